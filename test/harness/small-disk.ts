/** Megabytes. */
const size = 4;

/**
 * Words before a program that give it a disk of its own: a small one over a directory, with a copy of what stands in
 * another one, and full. It is in a mount namespace, and gone with the program.
 *
 * The program is a shell script with its arguments. It finds the disk at `$dir`, and `$filler` on it, which it removes
 * to make room.
 */
export function onFullDisk(directory: string, from: string): string[] {
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const script = [
    "dir=$1 from=$2 filler=$1/filler; shift 2",
    `mount -t tmpfs -o size=${size}m,mode=700 none "$dir"`,
    'cp -a "$from/." "$dir"',
    'dd if=/dev/zero of="$filler" bs=4096 2>/dev/null || :',
    "export dir filler",
    'exec sh -e -c "$@"',
  ];
  const head = ["unshare", ...asRoot, "--mount", "sh", "-e", "-c", script.join("; "), "sh"];
  return [...head, directory, from];
}
