//! The columns of the built-in tables, as MySQL 9.7's `information_schema` has them.
//!
//! Tables that are always empty here (triggers, routines, files, …) exist because mysqldump and drivers ask
//! them.
//!
//! Not here: their rows (`information_schema`).

/// A built-in table and its columns.
pub(crate) type BuiltIn = (&'static str, &'static str);

/// Each table of `information_schema` with its columns, comma-separated.
pub(crate) const INFORMATION_SCHEMA: &[BuiltIn] = &[
    ("character_sets", "character_set_name,default_collate_name,description,maxlen"),
    ("check_constraints", "constraint_catalog,constraint_schema,constraint_name,check_clause"),
    ("collations", "collation_name,character_set_name,id,is_default,is_compiled,sortlen,pad_attribute"),
    (
        "columns",
        "table_catalog,table_schema,table_name,column_name,ordinal_position,column_default, \
         is_nullable,data_type,character_maximum_length,character_octet_length,numeric_precision, \
         numeric_scale,datetime_precision,character_set_name,collation_name,column_type,column_key, \
         extra,privileges,column_comment,generation_expression,srs_id",
    ),
    ("column_statistics", "schema_name,table_name,column_name,histogram"),
    ("engines", "engine,support,comment,transactions,xa,savepoints"),
    (
        "events",
        "event_catalog,event_schema,event_name,definer,time_zone,event_body,event_definition, \
         event_type,execute_at,interval_value,interval_field,sql_mode,starts,ends,status, \
         on_completion,created,last_altered,last_executed,event_comment,originator, \
         character_set_client,collation_connection,database_collation",
    ),
    (
        "files",
        "file_id,file_name,file_type,tablespace_name,table_catalog,table_schema,table_name, \
         logfile_group_name,logfile_group_number,engine,fulltext_keys,deleted_rows,update_count, \
         free_extents,total_extents,extent_size,initial_size,maximum_size,autoextend_size, \
         creation_time,last_update_time,last_access_time,recover_time,transaction_counter,version, \
         row_format,table_rows,avg_row_length,data_length,max_data_length,index_length,data_free, \
         create_time,update_time,check_time,checksum,status,extra",
    ),
    (
        "key_column_usage",
        "constraint_catalog,constraint_schema,constraint_name,table_catalog,table_schema,table_name, \
         column_name,ordinal_position,position_in_unique_constraint,referenced_table_schema, \
         referenced_table_name,referenced_column_name",
    ),
    (
        "libraries",
        "library_catalog,library_schema,library_name,library_definition,language,created, \
         last_altered,sql_mode,library_comment,creator",
    ),
    (
        "parameters",
        "specific_catalog,specific_schema,specific_name,ordinal_position,parameter_mode, \
         parameter_name,data_type,character_maximum_length,character_octet_length,numeric_precision, \
         numeric_scale,datetime_precision,character_set_name,collation_name,dtd_identifier, \
         routine_type",
    ),
    (
        "partitions",
        "table_catalog,table_schema,table_name,partition_name,subpartition_name, \
         partition_ordinal_position,subpartition_ordinal_position,secondary_load,partition_method, \
         subpartition_method,partition_expression,subpartition_expression,partition_description, \
         table_rows,avg_row_length,data_length,max_data_length,index_length,data_free,create_time, \
         update_time,check_time,checksum,partition_comment,nodegroup,tablespace_name",
    ),
    (
        "plugins",
        "plugin_name,plugin_version,plugin_status,plugin_type,plugin_type_version,plugin_library, \
         plugin_library_version,plugin_author,plugin_description,plugin_license,load_option",
    ),
    ("processlist", "id,user,host,db,command,time,state,info"),
    (
        "referential_constraints",
        "constraint_catalog,constraint_schema,constraint_name,unique_constraint_catalog, \
         unique_constraint_schema,unique_constraint_name,match_option,update_rule,delete_rule, \
         table_name,referenced_table_name",
    ),
    (
        "routines",
        "specific_name,routine_catalog,routine_schema,routine_name,routine_type,data_type, \
         character_maximum_length,character_octet_length,numeric_precision,numeric_scale, \
         datetime_precision,character_set_name,collation_name,dtd_identifier,routine_body, \
         routine_definition,external_name,external_language,parameter_style,is_deterministic, \
         sql_data_access,sql_path,security_type,created,last_altered,sql_mode,routine_comment, \
         definer,character_set_client,collation_connection,database_collation",
    ),
    (
        "schemata",
        "catalog_name,schema_name,default_character_set_name,default_collation_name,sql_path, \
         default_encryption",
    ),
    ("schema_privileges", "grantee,table_catalog,table_schema,privilege_type,is_grantable"),
    (
        "statistics",
        "table_catalog,table_schema,table_name,non_unique,index_schema,index_name,seq_in_index, \
         column_name,collation,cardinality,sub_part,packed,nullable,index_type,comment,index_comment, \
         is_visible,expression",
    ),
    (
        "tables",
        "table_catalog,table_schema,table_name,table_type,engine,version,row_format,table_rows, \
         avg_row_length,data_length,max_data_length,index_length,data_free,auto_increment, \
         create_time,update_time,check_time,table_collation,checksum,create_options,table_comment",
    ),
    (
        "table_constraints",
        "constraint_catalog,constraint_schema,constraint_name,table_schema,table_name, \
         constraint_type,enforced",
    ),
    (
        "triggers",
        "trigger_catalog,trigger_schema,trigger_name,event_manipulation,event_object_catalog, \
         event_object_schema,event_object_table,action_order,action_condition,action_statement, \
         action_orientation,action_timing,action_reference_old_table,action_reference_new_table, \
         action_reference_old_row,action_reference_new_row,created,sql_mode,definer, \
         character_set_client,collation_connection,database_collation",
    ),
    ("user_privileges", "grantee,table_catalog,privilege_type,is_grantable"),
    (
        "views",
        "table_catalog,table_schema,table_name,view_definition,check_option,is_updatable,definer, \
         security_type,character_set_client,collation_connection",
    ),
];

/// Each table of `performance_schema` that exists here.
pub(crate) const PERFORMANCE_SCHEMA: &[BuiltIn] = &[
    ("column_masking_policy", "policy_name"),
    ("global_status", "variable_name,variable_value"),
    ("global_variables", "variable_name,variable_value"),
    ("processlist", "id,user,host,db,command,time,state,info"),
    ("session_status", "variable_name,variable_value"),
    ("session_variables", "variable_name,variable_value"),
];
