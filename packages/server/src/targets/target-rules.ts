/**
 * What the operator allows, asked when a job is created and again when it runs: the settings of a node may have changed in
 * between. What can only be known later, such as what a name resolves to, is seen where it is connected to.
 */
import { type BuiltInTarget, CarillonError, type ErrorDetail } from '@carillon/contract'
import type { TargetConfig } from '../config/target-config.ts'
import { targetsOff } from '../domain/built-in-targets.ts'
import { addressRules } from './http/address-rules.ts'
import { type HttpTarget, headerProblems } from './http/header-rules.ts'
import { parseUrl, type UrlRules, urlRefusal } from './http/url-rules.ts'
import { clusterNameOf, type KafkaTarget, kafkaProblems } from './kafka/kafka-rules.ts'
import { type LambdaTarget, lambdaProblems } from './lambda/lambda-rules.ts'

export class OperatorRules {
  readonly urls: UrlRules
  readonly #config: TargetConfig

  constructor(config: TargetConfig) {
    this.#config = config
    this.urls = { addresses: addressRules(config.allow), ports: config.ports }
  }

  /** Throws VALIDATION for what cannot be, TARGET_NOT_ALLOWED for what may not. */
  check({ http, shell, kafka, lambda }: BuiltInTarget): void {
    if (http) this.#checkHttp(http)
    if (shell) this.#checkShell(shell.command)
    if (kafka) this.#checkKafka(kafka)
    if (lambda) this.#checkLambda(lambda)
  }

  #checkHttp(target: HttpTarget): void {
    if (!this.#config.http) throw targetsOff('http')
    const url = parseUrl(target.url)
    const problems = headerProblems(target.headers ?? {})
    if (!(url instanceof URL)) problems.unshift({ pointer: '/target/http/url', message: url.message, hint: url.hint })
    if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
    const refusal = urlRefusal(url as URL, this.urls)
    const refusals: ErrorDetail[] = refusal
      ? [{ pointer: '/target/http/url', message: refusal.message, hint: refusal.hint }]
      : []
    for (const [pointer, ref] of refsOf(target)) {
      if (this.#config.secrets.allows(ref)) continue
      refusals.push({ pointer, message: `${ref} is not allowed`, hint: 'Ask the operator which prefixes are' })
    }
    if (refusals.length > 0) throw refused(refusals)
  }

  #checkShell(command: string): void {
    const { shell } = this.#config
    if (shell.size === 0) throw targetsOff('shell')
    if (shell.has(command)) return
    const message = `${command} is not on the operator’s list`
    throw refused({ pointer: '/target/shell/command', message, hint: `There are ${[...shell.keys()].join(', ')}` })
  }

  #checkKafka(target: KafkaTarget): void {
    const { kafka } = this.#config
    if (kafka.size === 0) throw targetsOff('kafka')
    const problems = kafkaProblems(target)
    if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
    const name = clusterNameOf(target, kafka)
    const cluster = kafka.get(name)
    if (cluster === undefined) {
      const message = target.cluster === undefined ? 'is needed' : `${name} is not on the operator’s list`
      throw refused({ pointer: '/target/kafka/cluster', message, hint: `There are ${[...kafka.keys()].join(', ')}` })
    }
    if (cluster.topics.allows(target.topic)) return
    const message = `${target.topic} is not on the operator’s list for ${name}`
    throw refused({ pointer: '/target/kafka/topic', message, hint: `Allowed are ${cluster.topics}` })
  }

  #checkLambda(target: LambdaTarget): void {
    const { lambda } = this.#config
    if (lambda === null) throw targetsOff('lambda')
    const problems = lambdaProblems(target)
    if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
    if (lambda.functions.allows(target.functionArn)) return
    const message = `${target.functionArn} is not on the operator’s list`
    throw refused({ pointer: '/target/lambda/functionArn', message, hint: `Allowed are ${lambda.functions}` })
  }
}

function refsOf(target: HttpTarget): [pointer: string, ref: string][] {
  const headers = Object.entries(target.headers ?? {}).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [] : [[`/target/http/headers/${name}`, value.secretRef]],
  )
  const keys = (target.signWith ?? []).map(({ secretRef }, n): [string, string] => [
    `/target/http/signWith/${n}`,
    secretRef,
  ])
  return [...headers, ...keys]
}

function refused(detail: ErrorDetail | ErrorDetail[]): CarillonError {
  return new CarillonError('TARGET_NOT_ALLOWED', detail)
}
