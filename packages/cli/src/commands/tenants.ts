import type { Tenant } from '@carillon/contract'
import { type Command, InvalidArgumentError } from 'commander'
import { act, type Context } from '../context.ts'
import { limitOption, list } from '../pages.ts'
import { printable } from '../table.ts'
import { when } from '../times.ts'
import { registerTenantUsage } from './usage.ts'

/** `carillon tenants …` */
export function registerTenants(program: Command): void {
  const tenants = program.command('tenants').description('tenants that are declared: list, get, put, delete, usage')
  tenants
    .command('list')
    .description('tenants by name, with the weight of their share')
    .option(...limitOption)
    .action(act(listTenants))
  tenants.command('get <name>').description('one tenant').action(act(get))
  tenants
    .command('put <name>')
    .description('declare a tenant, or change it: what is not given has its default')
    .option('--weight <number>', 'its share beside other tenants, 1 to 1000; 1 unless given', wholeNumber)
    .option('--jitter <seconds>', 'jitter of its schedules that say none', wholeNumber)
    .option('--description <text>', 'what it is')
    .option('--if-version <number>', 'only if it is still at this version', wholeNumber)
    .addHelpText('after', '\nExample:\n  $ carillon tenants put acme --weight 3')
    .action(act(put))
  tenants
    .command('delete <name>')
    .description('take back the declaration of a tenant that has nothing any more')
    .option('--if-version <number>', 'only if it is still at this version', wholeNumber)
    .action(act(remove))
  registerTenantUsage(tenants)
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return Number(text)
}

async function listTenants({ node, out, now }: Context, options: { limit: number }): Promise<void> {
  const { items, more } = await list(options.limit, (page) => node.call('listTenants', { query: page }))
  out.table(
    items,
    [
      { header: 'NAME', value: ({ name }) => name, flexible: true },
      { header: 'WEIGHT', value: ({ weight }) => weight, align: 'right' },
      { header: 'CHANGED', value: ({ updatedAt }) => when(updatedAt, now()) },
      { header: 'DESCRIPTION', value: ({ description }) => description ?? '', flexible: true },
    ],
    'No tenants are declared: all have the same share.',
  )
  if (more) out.note(`There are more: --limit ${options.limit * 10}`)
}

async function get(context: Context, _: unknown, name: string): Promise<void> {
  show(context, await context.node.call('getTenant', { params: { tenant: name } }))
}

interface PutOptions {
  weight?: number
  jitter?: number
  description?: string
  ifVersion?: number
}

async function put(
  context: Context,
  { ifVersion, jitter: jitterSec, ...said }: PutOptions,
  name: string,
): Promise<void> {
  const { weight, description } = said
  const body = { weight, description, jitterSec }
  show(context, await context.node.call('putTenant', { params: { tenant: name }, headers: ifMatch(ifVersion), body }))
}

async function remove({ node, out }: Context, { ifVersion }: PutOptions, name: string): Promise<void> {
  await node.call('deleteTenant', { params: { tenant: name }, headers: ifMatch(ifVersion) })
  out.document({ name, deleted: true })
  out.line(`Tenant ${printable(name)} is not declared any more`)
}

function ifMatch(version: number | undefined): { 'if-match'?: string } {
  return version === undefined ? {} : { 'if-match': `"${version}"` }
}

function show({ out, now }: Context, tenant: Tenant): void {
  out.record(tenant, [
    ['tenant', tenant.name],
    ['weight', tenant.weight],
    ['jitter', tenant.jitterSec === null ? null : `${tenant.jitterSec} s`],
    ['description', tenant.description],
    ['version', tenant.version],
    ['declared', when(tenant.createdAt, now())],
    ['changed', when(tenant.updatedAt, now())],
  ])
}
