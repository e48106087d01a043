#!/usr/bin/env node
/**
 * The entry. It parses and links on any Node, so that one that is too old is told so. What was compiled once is kept, so that
 * the next command starts in half the time.
 */
import { nodeRefusal, nodeVersions } from '@carillon/contract/node-version'

const refusal = nodeRefusal('carillon', nodeVersions.cli)
if (refusal === null) {
  const { enableCompileCache } = await import('node:module')
  enableCompileCache()
  const { run } = await import('./program.ts')
  process.exitCode = await run()
} else {
  process.stderr.write(`error: ${refusal}\n`)
  process.exitCode = 2
}
