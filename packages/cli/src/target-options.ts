/** What a node may do besides handing work to workers: call HTTP targets, run programs, publish to Kafka, call functions, read secrets. */
import type { ServeSettings } from '@carillon/server'
import { type Command, InvalidArgumentError } from 'commander'
import { UsageError } from './failure.ts'

type TargetSettings = NonNullable<ServeSettings['targets']>

export interface TargetOptions {
  httpTargets: boolean
  allowAddress?: string[]
  allowPort?: number[]
  allowSecret?: string[]
  allowTenantSecret?: Record<string, string[]>
  allowCommand?: Record<string, string>
  signWith?: string[]
  kafkaCluster?: Record<string, string>
  allowTopic?: string[]
  allowFunction?: string[]
  awsAccessKeyId?: string
  awsSecretAccessKey?: string
  awsSessionToken?: string
  lambdaEndpoint?: string
}

export function addTargetOptions(command: Command): Command {
  return command
    .option('--no-http-targets', 'call no HTTP targets')
    .option(
      '--allow-address <address>',
      'a private address, CIDR or host that HTTP targets may reach; repeatable',
      gather,
    )
    .option('--allow-port <number>', 'a port that HTTP targets may use (default: all); repeatable', gatherPort)
    .option(
      '--allow-secret <pattern>',
      'secrets that targets of every tenant may refer to, such as env:HOOK_*; repeatable',
      gather,
    )
    .option(
      '--allow-tenant-secret <tenant=pattern>',
      'secrets that targets of one tenant may refer to, such as acme=env:ACME__*; repeatable',
      gatherTenantSecret,
    )
    .option('--allow-command <name=path>', 'a program that shell targets may run; repeatable', gatherCommand)
    .option('--sign-with <reference>', 'a key that signs HTTP targets, such as env:HOOK_KEY; at most two', gather)
    .option(
      '--kafka-cluster <name=url>',
      'a cluster that Kafka targets may publish to: kafka://host:9092, or where its URL is, such as env:ORDERS_KAFKA; repeatable',
      gatherCluster,
    )
    .option(
      '--allow-topic <topic>',
      'a topic that Kafka targets may publish to, such as orders.* or main:orders.* for one cluster; repeatable',
      gather,
    )
    .option(
      '--allow-function <arn>',
      'a function that Lambda targets may call, such as arn:aws:lambda:eu-west-1:123456789012:function:orders-*; repeatable',
      gather,
    )
    .option('--aws-access-key-id <reference>', 'where the id of the key is (default: env:AWS_ACCESS_KEY_ID)')
    .option('--aws-secret-access-key <reference>', 'where the key is (default: env:AWS_SECRET_ACCESS_KEY)')
    .option('--aws-session-token <reference>', 'where the token of temporary keys is (default: env:AWS_SESSION_TOKEN)')
    .option('--lambda-endpoint <url>', 'where functions are called, instead of AWS’s endpoint of their region')
}

export function targetSettings(options: TargetOptions): Pick<ServeSettings, 'targets'> {
  const { httpTargets, allowAddress, allowPort, allowSecret, allowTenantSecret, allowCommand, signWith } = options
  const targets = {
    ...(!httpTargets && { http: false }),
    ...(allowAddress && { allow: allowAddress }),
    ...(allowPort && { ports: allowPort }),
    ...(allowSecret && { secrets: allowSecret }),
    ...(allowTenantSecret && { tenantSecrets: allowTenantSecret }),
    ...(allowCommand && { shell: allowCommand }),
    ...(signWith && { signWith }),
    ...kafkaSettings(options),
    ...lambdaSettings(options),
  }
  return Object.keys(targets).length === 0 ? {} : { targets }
}

function kafkaSettings({ kafkaCluster, allowTopic = [] }: TargetOptions): Pick<TargetSettings, 'kafka'> {
  if (kafkaCluster === undefined && allowTopic.length === 0) return {}
  const names = Object.keys(kafkaCluster ?? {})
  const allowed = allowTopic.map((text) => {
    const [topic = '', cluster] = text.split(':').reverse()
    if (cluster === undefined || names.includes(cluster)) return { topic, cluster }
    const hint = `Give --kafka-cluster ${cluster}=kafka://…`
    throw new UsageError({ message: `--allow-topic ${text} names a cluster that is not there`, hint })
  })
  const entries = Object.entries(kafkaCluster ?? {}).map(([name, url]) => {
    const topics = allowed.filter(({ cluster = name }) => cluster === name).map(({ topic }) => topic)
    if (topics.length > 0) return [name, { url, topics }] as const
    const hint = `Give --allow-topic ${name}:orders.*`
    throw new UsageError({ message: `--kafka-cluster ${name} has no topics to publish to`, hint })
  })
  if (entries.length > 0) return { kafka: Object.fromEntries(entries) }
  throw new UsageError({
    message: '--allow-topic goes with --kafka-cluster',
    hint: 'Give --kafka-cluster main=kafka://…',
  })
}

function lambdaSettings(options: TargetOptions): Pick<TargetSettings, 'lambda'> {
  const { allowFunction, awsAccessKeyId, awsSecretAccessKey, awsSessionToken, lambdaEndpoint } = options
  const references = [awsAccessKeyId, awsSecretAccessKey, awsSessionToken]
  const given = references.some((each) => each !== undefined)
  if (allowFunction === undefined) {
    if (!given && lambdaEndpoint === undefined) return {}
    const message = 'keys of AWS and --lambda-endpoint go with --allow-function'
    throw new UsageError({ message, hint: 'Give --allow-function arn:aws:lambda:…' })
  }
  if (given && (awsAccessKeyId === undefined || awsSecretAccessKey === undefined)) {
    const message = '--aws-access-key-id and --aws-secret-access-key go together'
    throw new UsageError({ message, hint: 'Give both, and --aws-session-token if they are temporary' })
  }
  const credentials = given && {
    ...{ accessKeyId: awsAccessKeyId!, secretAccessKey: awsSecretAccessKey! },
    ...(awsSessionToken !== undefined && { sessionToken: awsSessionToken }),
  }
  return {
    lambda: {
      functions: allowFunction,
      ...(credentials && { credentials }),
      ...(lambdaEndpoint !== undefined && { endpoint: lambdaEndpoint }),
    },
  }
}

function gatherCluster(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Give name=url, such as main=kafka://host:9092.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

function gather(text: string, before: string[] = []): string[] {
  return [...before, text]
}

function gatherTenantSecret(text: string, before: Record<string, string[]> = {}): Record<string, string[]> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Give tenant=pattern, such as acme=env:ACME__*.')
  const tenant = text.slice(0, at)
  return { ...before, [tenant]: [...(before[tenant] ?? []), text.slice(at + 1)] }
}

function gatherPort(text: string, before: number[] = []): number[] {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return [...before, Number(text)]
}

function gatherCommand(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Give name=path, such as backup=/usr/local/bin/backup.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
