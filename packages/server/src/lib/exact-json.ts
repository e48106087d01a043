/** JSON whose numbers are written again as they were, however many digits they have. */

/** As Node 22 and later have it; the type library does not know it yet. */
const json = JSON as unknown as {
  parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

/** The value of the text. Numbers that JavaScript would write otherwise stand in it as what JSON.stringify writes as they came. */
export function readExactly(text: string): unknown {
  return json.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value,
  )
}

/** Whether the value stands for such a number. */
export function isExactNumber(value: unknown): boolean {
  return json.isRawJSON(value)
}
