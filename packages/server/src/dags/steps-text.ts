/** Steps as JSON text, in the form of the contract. Payloads are passed on to the letter: see the contract's JsonText. */
import { type DagStep, JsonText } from '@carillon/contract'
import { itemsOf, membersOf, parsePart, skipSpace } from '../lib/json-walker.ts'

/** Payloads must have been checked. */
export function stepsText(steps: readonly DagStep[]): string {
  return `[${steps.map(stepText).join(',')}]`
}

function stepText({ payload, ...rest }: DagStep): string {
  const frame = JSON.stringify(rest)
  if (payload === undefined) return frame
  return `${frame.slice(0, -1)},"payload":${payload instanceof JsonText ? payload.text : JSON.stringify(payload)}}`
}

/** What `stepsText` has written. Payloads stay text. */
export function parseSteps(text: string): DagStep[] {
  const steps: DagStep[] = []
  for (const { start } of itemsOf(text, skipSpace(text, 0))) {
    const fields = new Map<string, unknown>()
    for (const member of membersOf(text, start)) {
      const { name, start: from, end } = member
      fields.set(name, name === 'payload' ? new JsonText(text.slice(from, end)) : parsePart(text, from, end))
    }
    steps.push(Object.fromEntries(fields) as DagStep)
  }
  return steps
}
