import type { Database } from '../store/database.ts'
import { readWriters } from '../store/events/listeners.ts'
import { readAhead } from '../store/events/read.ts'
import type { Log } from './settled-position.ts'

export function eventLog(database: Database): Log {
  return {
    readAhead: (after, limit) => readAhead(database, after, limit),
    readWriters: () => readWriters(database),
  }
}
