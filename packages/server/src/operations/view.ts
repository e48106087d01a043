import type { Operation } from '@carillon/contract/api'
import type { OperationRecord } from '../store/operations/operations.ts'

/** An operation as people and programs see it. */
export function operationViewOf(operation: OperationRecord): Operation {
  const { operationId, kind, state, total, done, skipped, ratePerSec, createdBy, createdAt, finishedAt, error } =
    operation
  return {
    ...{ operationId, kind, state, total, done, skipped, ratePerSec, createdBy },
    createdAt: new Date(createdAt).toISOString(),
    finishedAt: finishedAt === null ? null : new Date(finishedAt).toISOString(),
    error,
  }
}
