/** Functions that Lambda targets may call, and with whose rights. The keys themselves are read when a request is signed. */
import { CarillonError, checkOptions } from '@carillon/contract'
import { parseFunctionArn } from '../domain/function-arn.ts'
import { isLoopback } from './loopback.ts'
import { NamePatterns, partsOf } from './name-patterns.ts'
import { isWellFormed } from './secret-patterns.ts'

export interface LambdaSettings {
  /** ARNs of functions, or how they begin: `arn:aws:lambda:eu-west-1:123456789012:function:orders-*`. */
  functions: string[]
  /** References to the keys: `env:NAME`, `file:/path`. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN unless given. */
  credentials?: LambdaCredentials
  /** Where requests go instead of AWS's endpoint of the region: that of a private network, or of a test. */
  endpoint?: string
}

/** References, resolved for every request. */
export interface LambdaCredentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

export interface LambdaConfig {
  readonly functions: NamePatterns
  readonly credentials: Readonly<LambdaCredentials>
  readonly endpoint: URL | null
}

const arnHint = 'Such as arn:aws:lambda:eu-west-1:123456789012:function:orders-*'

export function lambdaTargetConfig(settings: LambdaSettings): LambdaConfig {
  checkOptions(settings, ['functions', 'credentials', 'endpoint'], {
    ...{ pointer: '/targets/lambda', what: 'targets.lambda', code: 'CONFIG_INVALID' },
  })
  const { functions, credentials, endpoint } = settings
  if (!Array.isArray(functions) || functions.length === 0) {
    throw invalid('functions', 'must be a list that is not empty', arnHint)
  }
  for (const pattern of functions) {
    if (typeof pattern !== 'string' || !isFunctionPattern(pattern)) {
      throw invalid('functions', `has ${JSON.stringify(pattern)}`, `${arnHint}: region and account in full`)
    }
  }
  return Object.freeze({
    functions: new NamePatterns(functions),
    credentials: credentials === undefined ? standardCredentials() : checkedCredentials(credentials),
    endpoint: endpoint === undefined ? null : endpointUrl(endpoint),
  })
}

/** Made into an ARN that it would allow, it must be one. */
function isFunctionPattern(pattern: string): boolean {
  const { start, whole } = partsOf(pattern)
  return parseFunctionArn(`${start}${whole ? '' : 'x'}`) !== null
}

function standardCredentials(): LambdaCredentials {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    throw invalid(
      'credentials',
      'are missing',
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or refer to keys as env:NAME or file:/path',
    )
  }
  return Object.freeze({
    accessKeyId: 'env:AWS_ACCESS_KEY_ID',
    secretAccessKey: 'env:AWS_SECRET_ACCESS_KEY',
    ...(AWS_SESSION_TOKEN && { sessionToken: 'env:AWS_SESSION_TOKEN' }),
  })
}

function checkedCredentials(given: LambdaCredentials): LambdaCredentials {
  checkOptions(given, ['accessKeyId', 'secretAccessKey', 'sessionToken'], {
    ...{ pointer: '/targets/lambda/credentials', what: 'targets.lambda.credentials', code: 'CONFIG_INVALID' },
  })
  const { accessKeyId, secretAccessKey, sessionToken } = given
  for (const [name, ref] of Object.entries({ accessKeyId, secretAccessKey, sessionToken })) {
    if (ref === undefined && name === 'sessionToken') continue
    // Not shown: it may be the key itself.
    if (typeof ref !== 'string' || !isWellFormed(ref)) {
      throw invalid(`credentials/${name}`, 'is not a reference', 'Refer to it as env:NAME or file:/path')
    }
    // Unlike a file, a variable does not come later.
    if (ref.startsWith('env:') && !process.env[ref.slice('env:'.length)]) {
      throw invalid(`credentials/${name}`, `refers to ${ref}, which is not set`)
    }
  }
  return Object.freeze({ ...given })
}

function endpointUrl(text: string): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : null
  const hint = 'Such as https://vpce-0abc.lambda.eu-west-1.vpce.amazonaws.com'
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.origin}/` !== url.href) {
    throw invalid('endpoint', 'must be a URL of a host and nothing else', hint)
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) {
    throw invalid(
      'endpoint',
      'has plain http, which is for this machine only: payloads would travel in plain text',
      hint,
    )
  }
  return url
}

function invalid(key: string, message: string, hint?: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', {
    pointer: `/targets/lambda/${key}`,
    message: `targets.lambda.${key.replace('/', '.')} ${message}`,
    hint,
  })
}
