/** Completes an execution in the handler's own transaction, or throws if the lease was lost. */
import { CarillonError } from '@carillon/contract'
import type { CompleteIn } from '@carillon/sdk'
import { codeOf } from '../store/trouble.ts'
import { runIn, type Transaction } from './transaction.ts'

const leaseLost = 'CA001'
const completeSql = 'select carillon.complete_in($1::uuid, $2::bigint, $3::json)'

export const completeIn: CompleteIn = async (tx, { executionId, fence, result }) => {
  try {
    await runIn(tx as Transaction)(completeSql, [executionId, fence, result])
  } catch (error) {
    if (codeOf(error) !== leaseLost) throw error
    const message = `the lease of execution ${executionId} was given to another attempt`
    throw new CarillonError('FENCE_STALE', { message, hint: 'Roll back' }, { cause: error })
  }
}
