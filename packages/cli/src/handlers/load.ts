/** Handlers out of a module: whatever it exports that `implementHandler` made, alone or in lists. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { RegisteredHandler } from '@carillon/sdk'
import { UsageError } from '../failure.ts'

export async function loadHandlers(path: string): Promise<RegisteredHandler[]> {
  const module = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>
  return handlersOf(module, path)
}

export function handlersOf(module: Record<string, unknown>, path: string): RegisteredHandler[] {
  const found = new Set(Object.values(module).flat().filter(isHandler))
  if (found.size === 0) {
    throw new UsageError({
      message: `${path} exports no handlers`,
      hint: 'export const greeting = implementHandler(greet, async (ctx) => …)',
    })
  }
  const byName = new Map<string, RegisteredHandler>()
  for (const handler of found) {
    const { name, pool } = handler.definition
    const place = `${pool} ${name}`
    if (byName.has(place)) throw new UsageError(`${path} exports two handlers named ${name} for the pool ${pool}`)
    byName.set(place, handler)
  }
  return [...found]
}

function isHandler(value: unknown): value is RegisteredHandler {
  if (typeof value !== 'object' || value === null || !('definition' in value)) return false
  const { definition } = value as { definition: { name?: unknown } | null }
  return typeof definition === 'object' && typeof definition?.name === 'string'
}
