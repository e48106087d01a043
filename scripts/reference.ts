/**
 * Writes docs/reference.md: every field of what the API takes and shows, from the schemas that validate it, and every setting of
 * a node, from where it is read. A test compares the file with what this makes.
 *
 *   npm run reference
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as contract from '@carillon/contract/api'
import { serveOptionList } from '../packages/cli/src/serve-options.ts'
import { engineNumbers } from '../packages/server/src/config/engine-config.ts'

const root = join(import.meta.dirname, '..')
export const referenceFile = join(root, 'docs/reference.md')

interface Schema {
  type?: string
  title?: string
  description?: string
  default?: unknown
  format?: string
  enum?: string[]
  anyOf?: Schema[]
  items?: Schema
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  maxProperties?: number
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  required?: string[]
}

/** In the order of the page; what they contain has a section of its own too. */
const sections: [heading: string, about: string, schema: unknown][] = [
  [
    'A job, as it is asked for',
    'The body of `POST /v1/jobs` and `PUT /v1/jobs/:jobId`, of `createJob`, and an entry of `carillon apply`. Exactly one of `runAt`, `delayMs`, `schedule` and `interval` by `type`; in `schedule(…)` of library mode and client, `cron` and `every` stand for the last two.',
    contract.JobInput,
  ],
  ['Target', '', contract.Target],
  ['HTTP target', '', contract.HttpTarget],
  ['Shell target', '', contract.ShellTarget],
  ['Kafka target', '', contract.KafkaTarget],
  ['Lambda target', '', contract.LambdaTarget],
  ['Retry policy', '', contract.RetryPolicy],
  ['Clock changes', '', contract.DstPolicy],
  ['Dedupe', '', contract.Dedupe],
  ['A job, as it is shown', '', contract.Job],
  ['An execution', '', contract.Execution],
  ['An entry of the timeline', '', contract.TimelineEntry],
  ['The error of an attempt', '', contract.ExecutionError],
  ['A graph, as it is asked for', 'The body of `POST /v1/dags` and `PUT /v1/dags/:dagId`.', contract.DagInput],
  ['A step of a graph', '', contract.DagStep],
  ['A graph, as it is shown', '', contract.Dag],
  ['A run of a graph, as it is asked for', 'The body of `POST /v1/dags/:dagId/runs`.', contract.RunInput],
  ['A run with steps of its own', 'The body of `POST /v1/dag-runs`.', contract.InlineRunInput],
  [
    'A run, as it is shown',
    'Of `GET /v1/dag-runs/:runId`; lists and changes show it without payload and steps.',
    contract.DagRun,
  ],
  ['A step of a run', '', contract.DagRunStep],
  ['A filter of executions', '', contract.ExecutionFilter],
  ['A pool', '', contract.Pool],
  ['The load of a pool', '', contract.PoolScaling],
  ['A limit, as it is declared', 'The body of `PUT /v1/limits/:limit`.', contract.LimitInput],
  ['The rate of a limit', '', contract.LimitRate],
  [
    'A limit, as it is shown',
    'Of `GET /v1/limits`; `GET /v1/limits/:limit` shows its `usage` too.',
    contract.LimitDetail,
  ],
  ['How much of a limit is used', '', contract.LimitUsage],
  ['A tenant, as it is declared', 'The body of `PUT /v1/tenants/:tenant`.', contract.TenantInput],
  ['A tenant, as it is shown', 'Of `GET /v1/tenants`.', contract.Tenant],
  ['What a tenant used', 'Of `GET /v1/tenants/:tenant/usage` and `GET /v1/usage`.', contract.Usage],
  ['What a tenant used on one day', '', contract.UsageDay],
  ['What each tenant used', 'Of `GET /v1/usage/tenants`.', contract.TenantUsage],
  ['Figures of usage', '', contract.UsageFigures],
  ['A worker', '', contract.Worker],
  ['An event', 'Of `GET /v1/events`, and a message of the Kafka topic `events`.', contract.Event],
  ['The detail of an event', '', contract.EventDetail],
  ['A dead letter in Kafka', 'A message of the topic `dead-letters`.', contract.DeadLetterMessage],
  ['An entry of the audit', 'Of `GET /v1/audit`, and a message of the Kafka topic `audit`.', contract.AuditEntry],
  ['A node', 'Of `GET /v1/nodes`.', contract.InstallationNode],
  ['Dead letters by error', 'Of `GET /v1/dead-letters/groups`.', contract.DeadLetterGroups],
  ['Failures by job', 'Of `GET /v1/failures`.', contract.JobFailures],
  ['A forecast', 'Of `GET /v1/forecast`.', contract.Forecast],
  ['What was verified', 'Of `GET /v1/verified`.', contract.Verified],
  ['Who is asking', 'Of `GET /v1/me`.', contract.Me],
  ['A token', 'Of `GET /v1/tokens`.', contract.Token],
  ['A new token', 'The body of `POST /v1/tokens`.', contract.TokenInput],
  ['A gap in Kafka', 'A message of every topic.', contract.PublishedGap],
]
const headings = new Map(sections.map(([heading, , schema]) => [(schema as Schema).title, heading]))

export function referencePage(): string {
  return [
    '# Reference',
    '',
    'Every field and every setting, made by `npm run reference` from the schemas that validate requests and the code that reads',
    'settings. Errors are in [errors.md](errors.md); operations with their requests and answers at `/docs` of every node.',
    '',
    ...sections.flatMap(([heading, about, schema]) => section(heading, about, schema as Schema)),
    ...engineSettings(),
    ...serveFlags(),
  ].join('\n')
}

function section(heading: string, about: string, schema: Schema): string[] {
  const { properties = {}, required = [], description } = schema
  const text = [about, description].filter(Boolean).join(' ')
  const rows = Object.entries(properties).map(([name, field]) =>
    row([
      `\`${name}\``,
      typeOf(field),
      required.includes(name) ? 'required' : defaultOf(field),
      field.description ?? below(field),
    ]),
  )
  const second = required.length === Object.keys(properties).length ? '' : 'default'
  return [
    `## ${heading}`,
    '',
    ...(text ? [text, ''] : []),
    ...table(['field', 'what it may be', second, 'meaning'], rows),
    '',
  ]
}

function engineSettings(): string[] {
  const about = comments('packages/server/src/config/engine-config.ts', 'EngineConfig')
  const rows = Object.entries(engineNumbers).map(([name, { value, min, max }]) =>
    row([`\`${name}\``, `${number(min)} to ${number(max)}`, number(value), about.get(name) ?? '']),
  )
  const others = ['nodeName', 'databaseUrl'].map((name) => row([`\`${name}\``, 'text', '', about.get(name) ?? '']))
  return [
    ...['## Settings of a node', ''],
    'Given to `createCarillon({ … })` directly and to `serve({ engine: { … } })`.',
    '',
    ...table(
      ['setting', 'what it may be', 'default', 'meaning'],
      [
        ...others,
        row(['`undeclaredTenants`', '`accept`, `refuse`', '`accept`', about.get('undeclaredTenants') ?? '']),
        ...rows,
      ],
    ),
    '',
    ...settingsSection(
      'Settings of `createCarillon`',
      'packages/server/src/library/create-carillon.ts',
      'CarillonOptions',
    ),
    ...settingsSection('Settings of `serve`', 'packages/server/src/config/serve-config.ts', 'ServeSettings'),
    ...settingsSection('Who may come in: `auth`', 'packages/server/src/config/auth-config.ts', 'AuthSettings'),
    ...settingsSection(
      'What built-in targets may do: `targets`',
      'packages/server/src/config/target-config.ts',
      'TargetSettings',
    ),
    ...settingsSection(
      'A cluster of `targets.kafka`',
      'packages/server/src/config/kafka-target-config.ts',
      'KafkaClusterSettings',
    ),
    ...settingsSection('`targets.lambda`', 'packages/server/src/config/lambda-target-config.ts', 'LambdaSettings'),
  ]
}

function settingsSection(heading: string, file: string, name: string): string[] {
  const rows = [...comments(file, name)].map(([setting, about]) => row([`\`${setting}\``, about]))
  return [`### ${heading}`, '', ...table(['setting', 'meaning'], rows), '']
}

function serveFlags(): string[] {
  const rows = serveOptionList().map(({ flags, description, defaultValue, envVar }) =>
    row([
      `\`${flags}\``,
      envVar ? `\`${envVar}\`` : '',
      defaultValue === undefined ? '' : String(defaultValue),
      description,
    ]),
  )
  const about = 'The same for `carillon dev`, as far as it has them.'
  return ['## `carillon serve`', '', about, '', ...table(['option', 'environment', 'default', 'meaning'], rows), '']
}

/** The members of an interface and what their comments say. */
function comments(file: string, name: string): Map<string, string> {
  const source = readFileSync(join(root, file), 'utf8')
  const body = new RegExp(`export interface ${name} [^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1]
  if (body === undefined) throw new Error(`there is no interface ${name} in ${file}`)
  const member = /(?:\/\*\*\s*([\s\S]*?)\s*\*\/\s*)?^ {2}(?:readonly )?(\w+)\??:/gm
  return new Map([...body.matchAll(member)].map(([, text = '', key]) => [key!, text.replace(/\s*\n\s*\*\s*/g, ' ')]))
}

function typeOf(schema: Schema): string {
  const link = headings.get(schema.title)
  if (link !== undefined && schema.title !== undefined) return `[${link.toLowerCase()}](#${anchor(link)})`
  if (schema.anyOf) {
    const some = schema.anyOf.filter(({ type }) => type !== 'null').map(typeOf)
    return [...some, ...(some.length < schema.anyOf.length ? ['null'] : [])].join(' or ')
  }
  if (schema.enum) return schema.enum.map((word) => `\`${word}\``).join(', ')
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}${most(schema.maxItems)}`
  if (schema.type === 'integer' || schema.type === 'number') return range(schema)
  if (schema.format === 'date-time') return 'instant'
  if (schema.format === 'uuid') return 'id'
  if (schema.type === 'string')
    return `text${schema.maxLength ? ` of up to ${number(schema.maxLength)} characters` : ''}`
  if (schema.type === 'boolean') return 'true or false'
  if (schema.patternProperties) return `object of ${valuesOf(schema)}${most(schema.maxProperties)}`
  if (schema.properties)
    return `object of ${Object.keys(schema.properties)
      .map((name) => `\`${name}\``)
      .join(', ')}`
  return 'any JSON'
}

/** What an object of any names holds. */
function valuesOf({ patternProperties = {} }: Schema): string {
  const kinds = Object.values(patternProperties).flatMap((value) => value.anyOf ?? [value])
  return kinds
    .map((kind) => (kind.type === 'string' ? 'texts' : typeOf(kind).replace('object', 'objects')))
    .join(' or ')
}

function range({ type, minimum, maximum }: Schema): string {
  const what = type === 'integer' ? 'whole number' : 'number'
  if (minimum === undefined && maximum === undefined) return what
  if (maximum === undefined) return `${what} from ${number(minimum!)}`
  return `${what} from ${number(minimum ?? 0)} to ${number(maximum)}`
}

function most(count: number | undefined): string {
  return count === undefined ? '' : `, at most ${number(count)}`
}

/** Of a nullable or listed thing, what is said inside. */
function below({ anyOf = [], items }: Schema): string {
  return [...anyOf, ...(items ? [items] : [])].map(({ description }) => description).find(Boolean) ?? ''
}

function defaultOf({ default: value }: Schema): string {
  return value === undefined ? '' : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

function table(heads: string[], rows: string[]): string[] {
  return [row(heads), `|${heads.map(() => '---').join('|')}|`, ...rows]
}

function row(cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replace(/\s+/g, ' ')).join(' | ')} |`
}

function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

function number(value: number): string {
  return value >= 10_000 ? value.toLocaleString('en-US') : String(value)
}

if (import.meta.main) writeFileSync(referenceFile, referencePage())
