/** A node that is spoken to over HTTP, in a process of its own. It tells its parent where it listens. */
import { type EngineSettings, serve } from '@carillon/server'
import { createLogger } from '../../packages/server/src/observability/logger.ts'

export interface HttpNodeProcessOptions {
  databaseUrl: string
  engine: EngineSettings
}

export interface HttpNodeProcessWord {
  url: string
  nodeId: string
}

const { databaseUrl, engine } = JSON.parse(process.argv[2]!) as HttpNodeProcessOptions
const node = await serve({ databaseUrl, engine, port: 0 }, createLogger('fatal'))
process.once('SIGTERM', () => void node.stop().then(() => process.exit(0)))
process.send!({ url: node.url, nodeId: node.nodeId } satisfies HttpNodeProcessWord)
