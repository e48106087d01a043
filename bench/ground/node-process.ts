/** A node in a process of its own, as it is shipped, with auth on. */
import { type EngineSettings, serve } from '@carillon/server'

export interface NodeProcessOptions {
  databaseUrl: string
  /** A free one unless given. */
  port?: number
  settings?: EngineSettings
}

export interface NodeProcessWord {
  url: string
  nodeId: string
}

const { databaseUrl, port = 0, settings = {} } = JSON.parse(process.argv[2]!) as NodeProcessOptions
const node = await serve({ databaseUrl, port, engine: settings, auth: { apiKeys: true } })
process.once('SIGTERM', () => void node.stop().then(() => process.exit(0)))
process.send!({ url: node.url, nodeId: node.nodeId } satisfies NodeProcessWord)
