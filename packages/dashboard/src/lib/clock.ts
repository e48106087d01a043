/** The clock of the viewer, who reads relative times by it. What is true is decided by the node's. */
export function currentTime(): Date {
  return new Date()
}
