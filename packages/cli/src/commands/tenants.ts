import { type QuotaName, quotaNames, type Tenant, type TenantInput } from '@carillon/contract'
import { type Command, InvalidArgumentError } from 'commander'
import { act, type Context } from '../context.ts'
import { limitOption, list } from '../pages.ts'
import { printable } from '../table.ts'
import { when } from '../times.ts'
import { registerTenantUsage } from './usage.ts'

const quotas: Record<QuotaName, string> = {
  maxJobs: 'jobs at rest that it may have',
  submissionsPerSec: 'jobs, submissions and runs that it may create a second',
  maxPools: 'pools of its own that it may have',
  maxWorkers: 'workers that may be registered with its tokens',
  maxIdempotencyKeys: 'Idempotency-Keys that are remembered',
  maxEventStreams: 'streams of events and log lines that may be open at a node',
}

/** `carillon tenants …` */
export function registerTenants(program: Command): void {
  const tenants = program.command('tenants').description('tenants that are declared: list, get, put, delete, usage')
  tenants
    .command('list')
    .description('tenants by name, with the weight of their share and their quotas')
    .option(...limitOption)
    .action(act(listTenants))
  tenants.command('get <name>').description('one tenant').action(act(get))
  const put = tenants
    .command('put <name>')
    .description('declare a tenant, or change it: what is not given has its default; a quota that is not given is none')
    .option('--weight <number>', 'its share beside other tenants, 1 to 1000; 1 unless given', wholeNumber)
    .option('--jitter <seconds>', 'jitter of its schedules that say none', wholeNumber)
    .option('--description <text>', 'what it is')
  for (const quota of quotaNames) put.option(`--${kebab(quota)} <number>`, quotas[quota], wholeNumber)
  put
    .option('--if-version <number>', 'only if it is still at this version', wholeNumber)
    .addHelpText(
      'after',
      '\nExample:\n  $ carillon tenants put acme --weight 3 --max-jobs 10000 --submissions-per-sec 50',
    )
    .action(act(putTenant))
  tenants
    .command('delete <name>')
    .description('take back the declaration of a tenant that has nothing any more')
    .option('--if-version <number>', 'only if it is still at this version', wholeNumber)
    .action(act(remove))
  registerTenantUsage(tenants)
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function wholeNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return Number(text)
}

async function listTenants({ node, out, now }: Context, options: { limit: number }): Promise<void> {
  const { items, more } = await list(options.limit, (page) => node.call('listTenants', { query: page }))
  out.table(
    items,
    [
      { header: 'NAME', value: ({ name }) => name, flexible: true },
      { header: 'WEIGHT', value: ({ weight }) => weight, align: 'right' },
      { header: 'QUOTAS', value: quotasOf, flexible: true },
      { header: 'CHANGED', value: ({ updatedAt }) => when(updatedAt, now()) },
      { header: 'DESCRIPTION', value: ({ description }) => description ?? '', flexible: true },
    ],
    'No tenants are declared: all have the same share.',
  )
  if (more) out.note(`There are more: --limit ${options.limit * 10}`)
}

/** Those that it has. */
function quotasOf(tenant: Tenant): string {
  return quotaNames.flatMap((quota) => (tenant[quota] === null ? [] : [`${quota} ${tenant[quota]}`])).join(', ')
}

async function get(context: Context, _: unknown, name: string): Promise<void> {
  show(context, await context.node.call('getTenant', { params: { tenant: name } }))
}

interface PutOptions extends Partial<Record<QuotaName, number>> {
  weight?: number
  jitter?: number
  description?: string
  ifVersion?: number
}

async function putTenant(context: Context, options: PutOptions, name: string): Promise<void> {
  const { ifVersion, weight, description, jitter: jitterSec } = options
  const given = quotaNames.flatMap((quota) => (options[quota] === undefined ? [] : [[quota, options[quota]]]))
  const body: TenantInput = {
    ...(weight !== undefined && { weight }),
    ...(description !== undefined && { description }),
    ...(jitterSec !== undefined && { jitterSec }),
    ...Object.fromEntries(given),
  }
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
    ...quotaNames.map((quota): [string, number | null] => [quota, tenant[quota]]),
    ['version', tenant.version],
    ['declared', when(tenant.createdAt, now())],
    ['changed', when(tenant.updatedAt, now())],
  ])
}
