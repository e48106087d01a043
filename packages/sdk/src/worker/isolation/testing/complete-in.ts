import type { CompleteIn } from '../../held-context.ts'

export const completeIn: CompleteIn = async (tx, { result }) => {
  if (tx !== 'tx' || result !== '{"n":1}') throw new Error('not what the handler gave')
}
