import { type Limit, type LimitDetail, type LimitInput, limitScopes } from '@carillon/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { act, type Context } from '../context.ts'
import { limitOption, list } from '../pages.ts'
import { parseRate, rateText } from '../rates.ts'
import { printable } from '../table.ts'
import { when } from '../times.ts'

/** `carillon limits …` */
export function registerLimits(program: Command): void {
  const limits = program.command('limits').description('limits of concurrency and of rate: list, get, put, delete')
  limits
    .command('list')
    .description('limits by name: those of the tenant, with a platform token those of the installation')
    .option(...limitOption)
    .action(act(listLimits))
  limits.command('get <name>').description('one limit, and how much of it is used').action(act(get))
  limits
    .command('put <name>')
    .description('declare a limit, or change it: what is not given has its default')
    .addOption(
      new Option('--for <what>', 'what has a count of its own; KEY unless given').choices(limitScopes).argParser(scope),
    )
    .option('--of <what>', 'only this job (id or key), handler, pool or tenant')
    .option('--concurrency <number>', 'how many may be ready or running at once; 0 stops all', wholeNumber)
    .option('--rate <rate>', 'how many may start in a time, such as 100/10s', parseRate)
    .option('--description <text>', 'what it is')
    .option('--if-version <number>', 'only if it is still at this version', wholeNumber)
    .addHelpText(
      'after',
      `
Examples:
  $ carillon limits put acct --concurrency 5                        for jobs with --limit 'acct:{payload.accountId}'
  $ carillon limits put mail --for HANDLER --of send-email --rate 100/1s`,
    )
    .action(act(put))
  limits
    .command('delete <name>')
    .description('delete a limit: what waits for it starts')
    .option('--if-version <number>', 'only if it is still at this version', wholeNumber)
    .action(act(remove))
}

function scope(text: string): Limit['for'] {
  const found = limitScopes.find((each) => each === text.toUpperCase())
  if (found === undefined) throw new InvalidArgumentError(`Give one of ${limitScopes.join(', ')}.`)
  return found
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return Number(text)
}

async function listLimits({ node, out, now }: Context, options: { limit: number }): Promise<void> {
  const { items, more } = await list(options.limit, (page) => node.call('listLimits', { query: page }))
  out.table(
    items,
    [
      { header: 'NAME', value: ({ name }) => name, flexible: true },
      { header: 'FOR', value: (limit) => limit.for },
      { header: 'OF', value: ({ of }) => of ?? '', flexible: true },
      { header: 'CONCURRENCY', value: ({ concurrency }) => concurrency ?? '', align: 'right' },
      { header: 'RATE', value: ({ rate }) => rateText(rate), align: 'right' },
      { header: 'CHANGED', value: ({ updatedAt }) => when(updatedAt, now()) },
      { header: 'DESCRIPTION', value: ({ description }) => description ?? '', flexible: true },
    ],
    'No limits are declared.',
  )
  if (more) out.note(`There are more: --limit ${options.limit * 10}`)
}

async function get(context: Context, _: unknown, name: string): Promise<void> {
  const limit = await context.node.call('getLimit', { params: { limit: name } })
  show(context, limit)
  showUsage(context, limit)
}

interface PutOptions extends LimitInput {
  ifVersion?: number
}

async function put(context: Context, { ifVersion, ...body }: PutOptions, name: string): Promise<void> {
  show(context, await context.node.call('putLimit', { params: { limit: name }, headers: ifMatch(ifVersion), body }))
}

async function remove({ node, out }: Context, { ifVersion }: PutOptions, name: string): Promise<void> {
  await node.call('deleteLimit', { params: { limit: name }, headers: ifMatch(ifVersion) })
  out.document({ name, deleted: true })
  out.line(`Limit ${printable(name)} deleted`)
}

function ifMatch(version: number | undefined): { 'if-match'?: string } {
  return version === undefined ? {} : { 'if-match': `"${version}"` }
}

function show({ out, now }: Context, limit: Limit | LimitDetail): void {
  out.record(limit, [
    ['limit', limit.name],
    ['tenant', limit.tenant ?? 'all together'],
    ['for', limit.for],
    ['of', limit.of],
    ['concurrency', limit.concurrency],
    ['rate', limit.rate === null ? null : rateText(limit.rate)],
    ['description', limit.description],
    ['version', limit.version],
    ['declared', when(limit.createdAt, now())],
    ['changed', when(limit.updatedAt, now())],
  ])
}

function showUsage({ out }: Context, { usage }: LimitDetail): void {
  for (const { key, taken, waiting } of usage)
    out.line(`  ${printable(key === '' ? '(no key)' : key)}  ${taken} taken, ${waiting} waiting`)
}
