/** How explanations are written. */

export function listed(names: readonly string[]): string {
  return names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ')
}

export function timeText(at: number): string {
  return new Date(at).toISOString()
}
