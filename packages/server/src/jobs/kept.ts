/** Nothing can be recorded for a time whose history is gone. */
import { CarillonError } from '@carillon/contract'
import { timeOf } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import { readInstallation } from '../store/partitions/manage.ts'

/** Refuses a nominal time below the floor of the ledger. */
export async function requireKept(database: Database, nominal: number): Promise<void> {
  const floor = timeOf((await readInstallation(database)).floorId)
  if (nominal >= floor) return
  throw new CarillonError('TIME_OUT_OF_RANGE', {
    pointer: '/runAt',
    message: `${new Date(nominal).toISOString()} lies before the history that is kept (${new Date(floor).toISOString()})`,
    hint: 'Leave runAt out to run it now',
  })
}
