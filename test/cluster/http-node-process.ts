/** A node that is spoken to over HTTP, in a process of its own. It tells its parent where it listens. */
import { type EngineSettings, serve } from '@carillon/server'
import { createLogger } from '../../packages/server/src/observability/logger.ts'

export interface HttpNodeProcessOptions {
  databaseUrl: string
  engine: EngineSettings
  /** That of a node that has ended, to take its place. */
  port?: number
}

export interface HttpNodeProcessWord {
  url: string
  nodeId: string
}

const { databaseUrl, engine, port = 0 } = JSON.parse(process.argv[2]!) as HttpNodeProcessOptions
const node = await serve({ databaseUrl, engine, port }, createLogger('fatal'))
process.once('SIGTERM', () => void node.stop().then(() => process.exit(0)))
process.send!({ url: node.url, nodeId: node.nodeId } satisfies HttpNodeProcessWord)
