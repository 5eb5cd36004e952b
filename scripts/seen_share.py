"""How much of a proxy's CPU time goes into being seen: reads `perf script --show-mmap-events --fields comm,ip,dso,event`.

Prints the number of samples, then percents of them: in the functions below on a worker's thread, on threads that aren't
workers, and both. Refuses fewer samples than the second argument says. A sample is in a function if any of its frames is,
those that the compiler inlined included; a line that polls what runs inside (`.poll...(cx)`) is not of the function itself.
Ends with 1 if a function isn't there any more.
"""

import collections
import pathlib
import re
import subprocess
import sys

SEEN = {
    "crates/proxy/src/meter.rs": (
        "publish publish_command publish_decisions use_database show_text ticked_ms store".split()
    ),
    "crates/proxy/src/relay/mod.rs": "poll_and_publish publish publish_lens state traffic".split(),
    "crates/proxy/src/relay/half_pipe/mod.rs": "traffic decision is_held_back".split(),
    "crates/proxy/src/leg/mod.rs": ["lens"],
}


def lines_of(file: str, function: str) -> set[int]:
    """The numbers of a function's lines, less those that poll what runs inside."""
    body: set[int] = set()
    indent = None
    for number, line in enumerate(pathlib.Path(file).read_text().splitlines(), 1):
        begins = re.match(rf"( *)(pub(\(\w+\))? )?(const )?(async )?fn {function}\b", line)
        if begins and not body:
            indent = begins[1]
        if indent is not None:
            if not re.search(r"\.poll\w*\(cx\)", line):
                body.add(number)
            if line == indent + "}":
                indent = None
    return body or sys.exit(f"seen_share: there is no function {function} in {file}")


def segments_of(program: str) -> list[list[int]]:
    """Offset in the file, address, length of what is loaded."""
    table = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    loads = [line.split() for line in table.splitlines() if line.split()[:1] == ["LOAD"]]
    return [[int(words[column], 16) for column in (1, 2, 4)] for words in loads]


def main(program: str, least: int) -> None:
    seen = {(file, line) for file, names in SEEN.items() for name in names for line in lines_of(file, name)}
    segments, maps = segments_of(program), []
    samples: collections.Counter[int] = collections.Counter()
    total = beside = 0
    for line in sys.stdin:
        mapped = re.search(r"MMAP2? .*\[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*\]: r-xp (.*)", line)
        if mapped:
            if mapped[4] == program:
                maps.append([int(number, 16) for number in mapped.groups()[:3]])
            continue
        sample = re.match(r"\s*(\S+)\s+.*?([0-9a-f]+) \((.*)\)$", line)
        if not sample:
            continue
        total += 1
        if not re.match("worker-|helper-", sample[1]):
            beside += 1
        elif sample[3] == program:
            samples[int(sample[2], 16)] += 1
    if total < least or not samples:
        sys.exit(f"seen_share: only {total} samples, {least} are needed")

    def static(ip: int) -> int:
        for start, length, offset in maps:
            for where, address, size in segments:
                if start <= ip < start + length and where <= ip - start + offset < where + size:
                    return ip - start + offset - where + address
        sys.exit(f"seen_share: {ip:#x} is in no segment of {program}")

    counts = {static(ip): count for ip, count in samples.items()}
    asked = subprocess.run(
        ["addr2line", "-aie", program], input="\n".join(map(hex, counts)), capture_output=True, text=True, check=True
    )
    found: set[int] = set()
    address = 0
    for line in asked.stdout.splitlines():
        if re.fullmatch("0x[0-9a-f]+", line):
            address = int(line, 16)
        elif frame := re.match(r".*?(crates/\S+\.rs):(\d+)", line):
            if (frame[1], int(frame[2])) in seen:
                found.add(address)
    counting = sum(counts[address] for address in found)
    print(total, *(f"{100 * part / total:.3f}" for part in (counting, beside, counting + beside)))


main(sys.argv[1], int(sys.argv[2]))
