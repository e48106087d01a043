/** Handlers out of a module: whatever it exports that `implementHandler` made, alone, in lists or in objects. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { RegisteredHandler } from '@carillon/sdk'
import { UsageError } from '../failure.ts'

export async function loadHandlers(path: string): Promise<RegisteredHandler[]> {
  requireFile(path)
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>
  } catch (error) {
    throw notLoaded(path, error)
  }
  return handlersOf(module, path)
}

export function handlersOf(module: Record<string, unknown>, path: string): RegisteredHandler[] {
  // What a CommonJS module exports as one object, import shows as its default.
  const exported = [...Object.values(module), ...Object.values(isObject(module.default) ? module.default : {})]
  const found = new Set(exported.flat().filter(isHandler))
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

function requireFile(path: string): void {
  const found = statSync(resolve(path), { throwIfNoEntry: false })
  if (found?.isFile()) return
  throw new UsageError({
    message: found ? `${path} is a directory` : `${path} does not exist`,
    hint: 'Name the module that exports the handlers, such as ./src/handlers.ts',
  })
}

/** A module that cannot be loaded is the user's to fix: what is wrong, and where, without our own stack. */
function notLoaded(path: string, error: unknown): UsageError {
  const { name = 'Error', message = String(error), stack = '', code } = error as NodeJS.ErrnoException
  const at = placeIn(stack)
  const text = `${path} cannot be loaded: ${name}: ${message.split('\n')[0]}${at === null ? '' : ` (${at})`}`
  return new UsageError({ message: text, hint: hintOf(code, message) })
}

/** Where in the user's own files: not in Node, not in ours. */
function placeIn(stack: string): string | null {
  const [, url] = /(file:\/\/(?!.*node_modules)[^\s)]+:\d+)/.exec(stack) ?? []
  if (url === undefined) return null
  const [, file, line] = /^(.*?):(\d+)(?::\d+)?$/.exec(url) ?? []
  return file === undefined ? null : `${fileURLToPath(file)}:${line}`
}

function hintOf(code: string | undefined, message: string): string | undefined {
  if (/Cannot use import statement outside a module|Unexpected token 'export'|import\.meta/.test(message)) {
    return 'Its package.json says "type": "commonjs": write "type": "module" there, or name the file .mjs or .mts'
  }
  if (/(require|module|exports|__dirname) is not defined/.test(message)) {
    return 'Its package.json says "type": "module": use import and export, or name the file .cjs or .cts'
  }
  if (code === 'ERR_MODULE_NOT_FOUND')
    return 'Install the package, or correct the path; relative imports need their file extension'
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return 'Node only strips types: use no enums, namespaces or parameter properties, or compile it first'
  return undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isHandler(value: unknown): value is RegisteredHandler {
  if (typeof value !== 'object' || value === null || !('definition' in value)) return false
  const { definition } = value as { definition: { name?: unknown } | null }
  return typeof definition === 'object' && typeof definition?.name === 'string'
}
