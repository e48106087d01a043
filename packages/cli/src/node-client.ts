/** The way to a node. Every command that speaks HTTP does so through this. */
import { silentLogger } from '@carillon/contract/process'
import { type Client, createClient } from '@carillon/sdk'

export type NodeClient = Pick<Client, 'call' | 'events' | 'verify' | 'close'>

export interface Reach {
  urls: readonly string[]
  token?: string
  tenant?: string
  tls?: { ca: string }
}

/** A command says itself what there is to say, and a person does not want to wait for a node that is not there. */
export function connect(reach: Reach): NodeClient {
  return createClient({ ...reach, logger: silentLogger, patienceMs: 0 })
}
