/** `name:text` of a query as a label. The name has no colon. */
export function labelOf(text: string): Record<string, string> {
  const colon = text.indexOf(':')
  return Object.fromEntries([[text.slice(0, colon), text.slice(colon + 1)]])
}
