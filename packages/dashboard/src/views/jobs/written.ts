/** Values that the form shows as text of several lines. */

export function writePayload(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}

export function readPayload(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`)
  }
}

export function writeLabels(value: unknown): string {
  return Object.entries((value ?? {}) as Record<string, string>)
    .map(([name, text]) => `${name}: ${text}`)
    .join('\n')
}

export function readLabels(text: string): Record<string, string> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return undefined
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^\s*([^:]+?)\s*:\s*(.+?)\s*$/.exec(line) ?? []
      if (name === undefined || value === undefined) throw new Error(`Write “${line.trim()}” as name: text`)
      return [name, value]
    }),
  )
}
