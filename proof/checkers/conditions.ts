/** Conditions as the graphs of the proofs have them, a second time: a comparison, or two of them joined by && or ||. */

export interface Known {
  results: Readonly<Record<string, unknown>>
  states: Readonly<Record<string, string>>
}

/** Null: it cannot be answered. One side that decides is enough. */
export function answer(condition: string, known: Known): boolean | null {
  const isAny = condition.includes(' || ')
  const answers = condition.split(isAny ? ' || ' : ' && ').map((part) => compare(part, known))
  if (answers.includes(isAny)) return isAny
  return answers.includes(null) ? null : !isAny
}

function compare(text: string, { results, states }: Known): boolean | null {
  const [, ofState, state] = text.match(/^states\.(\w+) == "(\w+)"$/) ?? []
  if (ofState !== undefined) return states[ofState] === state
  const [, step, field, operator, limit] = text.match(/^results\.(\w+)\.(\w+) (>|<=) (\d+)$/) ?? []
  if (step === undefined) throw new Error(`the condition ${text} is of a kind that is not known here`)
  const value = (results[step] as Record<string, unknown> | null | undefined)?.[field!]
  if (typeof value !== 'number') return null
  return operator === '>' ? value > Number(limit) : value <= Number(limit)
}
