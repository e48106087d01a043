/** A node in a process of its own, as it is shipped, with auth on. It does not outlive its parent. */
import { type EngineSettings, serve } from '@carillon/server'
import { createLogger } from '../../packages/server/src/observability/logger.ts'

export interface NodeProcessOptions {
  databaseUrl: string
  engine: EngineSettings
}

export interface NodeProcessWord {
  port: number
}

process.once('disconnect', () => process.exit(1))
const { databaseUrl, engine } = JSON.parse(process.argv[2]!) as NodeProcessOptions
const node = await serve({ databaseUrl, engine, port: 0, auth: { apiKeys: true } }, createLogger('info'))
process.send!({ port: Number(new URL(node.url).port) } satisfies NodeProcessWord)
