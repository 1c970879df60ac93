/**
 * The arguments that put a command into a sandbox of bubblewrap. Pure; the order is the meaning, since a later mount covers an
 * earlier one.
 *
 * Invariants:
 * 1. Nothing is writable but what is named; what is hidden stays hidden inside of what is writable, too.
 * 2. The command stays in the process group it was started in (no new session here: the supervisor has made one), so that TERM and KILL to
 *    the group reach it, and KILL of the group ends the whole process namespace.
 * 3. Its processes see none but their own: the environment of the agent holds the key.
 */

export interface Hidden {
  path: string;
  kind: "folder" | "file";
}

export interface Confinement {
  /** Real paths all. */
  workspace: string;
  writable: readonly string[];
  hidden: readonly Hidden[];
  /** Read-only, also inside of what is hidden. */
  visible: readonly string[];
  /** The folder that is `/tmp` in there. */
  temporary: string;
  network: boolean;
}

/** Of `/run` what programs need; sockets of other services (docker, a bus, an agent of keys) would be ways out. */
const needed = [
  "/run/current-system",
  "/run/wrappers",
  "/run/opengl-driver",
  "/run/systemd/resolve",
  "/run/resolvconf",
  "/run/NetworkManager/resolv.conf",
  "/run/nscd",
];

export function bubblewrapArguments({
  workspace,
  writable,
  hidden,
  visible,
  temporary,
  network,
}: Confinement): string[] {
  const bind = (path: string) => ["--bind", path, path];
  return [
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"],
    ...needed.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--bind", temporary, "/tmp", "--tmpfs", "/var/tmp"],
    ...[...writable, workspace].flatMap(bind),
    ...hidden.flatMap(cover),
    ...visible.flatMap((path) => ["--ro-bind", path, path]),
    // Read-only: what seems to be written there would be gone without a word.
    ...hidden.flatMap(({ path, kind }) => (kind === "folder" ? ["--remount-ro", path] : [])),
    ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(network ? [] : ["--unshare-net"]),
    // As root it would keep them all, and could mount what is hidden again.
    ...["--cap-drop", "ALL", "--chdir", workspace, "--"],
  ];
}

function cover({ path, kind }: Hidden): string[] {
  return kind === "folder" ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}
