import type { CompleteIn } from '../../running/held-context.ts'

export const completeIn: CompleteIn = async (tx, { result }) => {
  if (tx !== 'tx' || result !== '{"n":1}') throw new Error('not what the handler gave')
}
