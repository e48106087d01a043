/** The client of all commands that speak HTTP. */
import { silentLogger } from '@carillon/contract/process'
import { type Client, createClient } from '@carillon/sdk'

export type NodeClient = Pick<Client, 'call' | 'events' | 'follow' | 'verify' | 'close'>

export interface Reach {
  urls: readonly string[]
  token?: string
  tenant?: string
  tls?: { ca: string }
}

/** Commands print their own messages, and a person does not want to wait for a node that is down. */
export function connect(reach: Reach): NodeClient {
  return createClient({ ...reach, logger: silentLogger, patienceMs: 0 })
}
