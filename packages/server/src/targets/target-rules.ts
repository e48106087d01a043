/**
 * What the operator allows, asked when a job is created and again when it runs: the settings of a node may have changed in
 * between. What can only be known later, such as what a name resolves to, is seen where it is connected to.
 */
import { type BuiltInTarget, CarillonError, type ErrorDetail } from '@carillon/contract'
import type { TargetConfig } from '../config/target-config.ts'
import { targetsOff } from '../domain/built-in-targets.ts'
import { addressRules } from './http/address-rules.ts'
import { bodySecretProblems } from './http/body-secrets.ts'
import { type HttpTarget, headerProblems } from './http/header-rules.ts'
import { parseUrl, type UrlRules, urlRefusal } from './http/url-rules.ts'
import { clusterNameOf, type KafkaTarget, kafkaProblems } from './kafka/kafka-rules.ts'
import { type LambdaTarget, lambdaProblems } from './lambda/lambda-rules.ts'
import { httpSecrets, type PlacedRef, shellSecrets } from './referred-secrets.ts'
import type { ShellTarget } from './shell/shell-target.ts'

export class OperatorRules {
  readonly urls: UrlRules
  readonly #config: TargetConfig

  constructor(config: TargetConfig) {
    this.#config = config
    this.urls = { addresses: addressRules(config.allow), ports: config.ports }
  }

  /** Throws VALIDATION for what cannot be, TARGET_NOT_ALLOWED for what may not. */
  check({ http, shell, kafka, lambda }: BuiltInTarget, tenant: string): void {
    if (http) this.#checkHttp(http, tenant)
    if (shell) this.#checkShell(shell, tenant)
    if (kafka) this.#checkKafka(kafka)
    if (lambda) this.#checkLambda(lambda)
  }

  #checkHttp(target: HttpTarget, tenant: string): void {
    if (!this.#config.http) throw targetsOff('http')
    // One that is a secret is known only when the request is sent.
    const url = typeof target.url === 'string' ? parseUrl(target.url) : null
    const problems = [...headerProblems(target.headers ?? {}), ...bodySecretProblems(target.bodySecrets ?? {})]
    const pointer = '/target/http/url'
    const isUrl = url instanceof URL
    if (url !== null && !isUrl) problems.unshift({ pointer, message: url.message, hint: url.hint })
    if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
    const refusal = isUrl ? urlRefusal(url, this.urls) : null
    const refusals: ErrorDetail[] = refusal ? [{ pointer, message: refusal.message, hint: refusal.hint }] : []
    refusals.push(...this.#refusedSecrets(httpSecrets(target), tenant))
    if (refusals.length > 0) throw refused(refusals)
  }

  #checkShell(target: ShellTarget, tenant: string): void {
    const { shell } = this.#config
    if (shell.size === 0) throw targetsOff('shell')
    if (!shell.has(target.command)) {
      const message = `${target.command} is not on the operator’s list`
      throw refused({ pointer: '/target/shell/command', message, hint: `There are ${[...shell.keys()].join(', ')}` })
    }
    const refusals = this.#refusedSecrets(shellSecrets(target), tenant)
    if (refusals.length > 0) throw refused(refusals)
  }

  #refusedSecrets(refs: readonly PlacedRef[], tenant: string): ErrorDetail[] {
    const { secrets } = this.#config
    const allowed = secrets.allowedTo(tenant)
    const hint =
      allowed.length === 0 ? 'The operator allows this tenant none: ask for one' : `Allowed are ${allowed.join(', ')}`
    return refs
      .filter(({ ref }) => !secrets.allows(ref, tenant))
      .map(({ pointer, ref }) => ({ pointer, message: `${ref} is not allowed`, hint }))
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

function refused(detail: ErrorDetail | ErrorDetail[]): CarillonError {
  return new CarillonError('TARGET_NOT_ALLOWED', detail)
}
