/** What `snapshot.recorded` holds: which shadow repository, and which commit in it. A session may work in several folders. */
export function snapshotId(key: string, commit: string): string {
  return `${key}/${commit}`;
}

export function parseSnapshotId(id: string): { key: string; commit: string } | undefined {
  const [, key, commit] = /^([0-9a-f]{24})\/([0-9a-f]{40,64})$/.exec(id) ?? [];
  return key === undefined || commit === undefined ? undefined : { key, commit };
}
