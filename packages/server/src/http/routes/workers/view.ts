import type { Worker } from '@carillon/contract/api'
import type { ListedWorker } from '../../../store/workers/list.ts'

export function viewOf({ live, registeredAt, seenAt, ...worker }: ListedWorker): Worker {
  return {
    ...worker,
    state: live ? 'LIVE' : 'SUSPECT',
    registeredAt: new Date(registeredAt).toISOString(),
    seenAt: new Date(seenAt).toISOString(),
  }
}
