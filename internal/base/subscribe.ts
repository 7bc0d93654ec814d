/** Adds a listener. @returns a function that removes it */
export function subscribe<Run>(listeners: Set<Run>, run: Run): () => void {
  listeners.add(run);
  return () => listeners.delete(run);
}
