import { type Scope, scopes } from '@carillon/contract'
import type { ApiKey } from '@carillon/server/administration'
import { type Command, InvalidArgumentError } from 'commander'
import { act, type Context } from '../context.ts'
import { addDatabaseOptions, type DatabaseOptions, databasePlace } from '../database-options.ts'
import { Negative } from '../failure.ts'
import { parseSpan, when } from '../times.ts'

/** `carillon tokens …`: API keys, created in the database, because the first one can come from nowhere else. */
export function registerTokens(program: Command): void {
  const tokens = program.command('tokens').description('API keys, on the database itself: create, list, revoke')
  addDatabaseOptions(tokens.command('create <name>'))
    .description('make a key; it is shown once. With --tenant for that tenant, without for the platform')
    .requiredOption('--scopes <scopes>', `what it allows, separated by commas: ${scopes.join(', ')}`, scopeList)
    .option('--expires-in <span>', 'such as 90d; until it is revoked unless given', parseSpan)
    .addHelpText(
      'after',
      '\nExample:\n  $ carillon tokens create deploys --tenant billing --scopes jobs:read,jobs:write',
    )
    .action(act(create))
  addDatabaseOptions(tokens.command('list')).description('keys, newest first').action(act(listKeys))
  addDatabaseOptions(tokens.command('revoke <key>'))
    .description('end a key, by its id or itself; nodes notice within 10 s')
    .action(act(revoke))
}

function scopeList(text: string): Scope[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !(scopes as readonly string[]).includes(name))
  if (unknown !== undefined) throw new InvalidArgumentError(`${unknown} is not one of ${scopes.join(', ')}.`)
  return names as Scope[]
}

interface CreateOptions extends DatabaseOptions {
  scopes: Scope[]
  expiresIn?: number
}

async function create(context: Context, options: CreateOptions, name: string): Promise<void> {
  const { out, globals } = context
  const { createApiKey, reachDatabase } = await import('@carillon/server/administration')
  await using database = await reachDatabase(databasePlace(context, options))
  const made = await createApiKey(database.url, {
    name,
    tenant: globals.tenant ?? null,
    scopes: options.scopes,
    ...(options.expiresIn !== undefined && { expiresInSec: options.expiresIn / 1_000 }),
  })
  out.document(made)
  out.line(made.key)
  const whose = made.tenant === null ? 'the platform' : `tenant ${made.tenant}`
  out.note(`For ${whose}, allows ${made.scopes.join(', ')}. It is not shown again; in a shell: export CARILLON_TOKEN=…`)
}

async function listKeys(context: Context, options: DatabaseOptions): Promise<void> {
  const { out, now } = context
  const { listApiKeys, reachDatabase } = await import('@carillon/server/administration')
  await using database = await reachDatabase(databasePlace(context, options))
  const keys = await listApiKeys(database.url)
  out.table(
    keys,
    [
      { header: 'ID', value: (key) => key.keyId },
      { header: 'NAME', value: (key) => key.name, flexible: true },
      { header: 'TENANT', value: (key) => key.tenant ?? 'platform', flexible: true },
      { header: 'SCOPES', value: (key) => key.scopes.join(','), flexible: true },
      { header: 'STATE', value: (key) => stateOf(key, now()), paint: (key) => out.state(paintOf[stateOf(key, now())]) },
      { header: 'CREATED', value: (key) => when(key.createdAt.toISOString(), now()) },
      { header: 'EXPIRES', value: (key) => when(key.expiresAt?.toISOString(), now()) },
    ],
    'No keys. Make one: carillon tokens create --help',
  )
}

const paintOf = { valid: 'OK', revoked: 'DEAD', expired: 'SKIPPED' } as const

function stateOf({ revokedAt, expiresAt }: ApiKey, now: number): 'valid' | 'revoked' | 'expired' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt.getTime() <= now ? 'expired' : 'valid'
}

async function revoke(context: Context, options: DatabaseOptions, key: string): Promise<void> {
  const { out } = context
  const { reachDatabase, revokeApiKey } = await import('@carillon/server/administration')
  await using database = await reachDatabase(databasePlace(context, options))
  const revoked = await revokeApiKey(database.url, key)
  if (revoked === null) throw new Negative('There is no such key: see carillon tokens list')
  out.document(revoked)
  out.line(`Revoked ${revoked.keyId} (${revoked.name})`)
}
