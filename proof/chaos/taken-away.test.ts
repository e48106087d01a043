import { expect, it } from 'vitest'
import { historyOf, occurrence, secondTry, transition } from '../checkers/history.test-support.ts'
import { takenAway } from './taken-away.ts'

it.each<[string, number, ReturnType<typeof occurrence>]>([
  ['ran through it', 0, occurrence(1)],
  ['was lost with its worker', 1, secondTry()],
  [
    'was lost before it began',
    1,
    occurrence(1, { transitions: [transition({ to: 'HANDED_BACK', reason: 'WORKER_LOST', fence: 5 })] }),
  ],
  ['needed another attempt', 1, occurrence(1, { attempt: 2, transitions: [transition({ fence: 5 })] })],
  ['was handed back', 1, occurrence(1, { transitions: [transition({ to: 'HANDED_BACK', fence: 5 })] })],
  ['did not succeed', 1, occurrence(1, { state: 'DEAD', reason: 'NOT_RETRYABLE' })],
  ['failed by itself, and did not run through it', 0, occurrence(2, { state: 'DEAD', reason: 'NOT_RETRYABLE' })],
])('an execution that %s', (_, findings, life) => {
  expect(takenAway(['e1']).check(historyOf([life]))).toHaveLength(findings)
})
