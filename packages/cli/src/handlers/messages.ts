/** What the development server and the process with its handlers tell each other. */

/** The only argument of the process, as JSON. */
export interface WorkerProcessOptions {
  module: string
  urls: string[]
  token?: string
  tenant?: string
  drainSec: number
}

/** START only after LOADED; STOP at any time. */
export type ToWorker = 'START' | 'STOP'

export type FromWorker =
  | { kind: 'LOADED'; handlers: string[]; files: string[] }
  | { kind: 'REFUSED'; error: string; files: string[] }
  | { kind: 'STARTED' }
