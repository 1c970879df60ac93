/**
 * Which file systems share a folder between machines, by the magic number that `statfs` gives.
 *
 * Owns: the table. Pure. What is not in it counts as a local disk: most are, and a wrong warning would teach people not
 * to read warnings. The numbers are Linux's; other systems give numbers of their own, which are not in the table.
 */
export interface FileSystem {
  name: string;
  /** `network`: locks and shared memory do not hold between machines. `perhaps`: it depends on what is behind it. */
  shared: "network" | "perhaps";
}

/** https://man7.org/linux/man-pages/man2/statfs.2.html and linux/magic.h */
const table: ReadonlyMap<number, FileSystem> = new Map<number, FileSystem>([
  [0x6969, { name: "NFS", shared: "network" }],
  [0x517b, { name: "SMB", shared: "network" }],
  [0xff534d42, { name: "CIFS", shared: "network" }],
  [0xfe534d42, { name: "SMB2", shared: "network" }],
  [0x01021997, { name: "9P", shared: "network" }],
  [0x5346414f, { name: "AFS", shared: "network" }],
  [0x73757245, { name: "Coda", shared: "network" }],
  [0x564c, { name: "NCP", shared: "network" }],
  [0x00c36400, { name: "Ceph", shared: "network" }],
  [0x0bd00bd0, { name: "Lustre", shared: "network" }],
  [0x47504653, { name: "GPFS", shared: "network" }],
  [0x7461636f, { name: "OCFS2", shared: "network" }],
  [0x01161970, { name: "GFS2", shared: "network" }],
  [0x786f4256, { name: "VirtualBox shared folder", shared: "network" }],
  [0xbacbacbc, { name: "VMware shared folder", shared: "network" }],
  [0x65735546, { name: "FUSE", shared: "perhaps" }],
]);

/** Undefined for what counts as a local disk. `statfs` gives some numbers with a sign. */
export function sharedFileSystem(type: number): FileSystem | undefined {
  return table.get(type >>> 0);
}

/** What a person should know about a store that lies there. */
export function sharedWarning(dir: string, { name, shared }: FileSystem): string {
  const maybe = shared === "perhaps" ? "may be" : "is";
  return (
    `${dir} ${maybe} on a network file system (${name}): it is used without a write-ahead log, which is slower; ` +
    "drive its sessions from one machine only, or put the store on a local disk with --store"
  );
}
