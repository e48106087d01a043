/** An HTTP server with authentication and echo routes: every route answers with the caller it recognised. */
import { type Scope, scopes } from '@carillon/contract'
import { type JWTPayload, SignJWT } from 'jose'
import { type AuthSettings, authConfig } from '../../../packages/server/src/config/auth-config.ts'
import { engineConfig } from '../../../packages/server/src/config/engine-config.ts'
import { createAuthenticator } from '../../../packages/server/src/http/auth/authenticator.ts'
import { ok, type Route, route } from '../../../packages/server/src/http/route.ts'
import { HttpServer } from '../../../packages/server/src/http/server.ts'
import { monotonicMs } from '../../../packages/server/src/lib/clock.ts'
import { Engine } from '../../../packages/server/src/main.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { type Asked, ask } from '../../support/http-node.ts'
import { createDatabase } from '../../support/postgres.ts'

const logger = createLogger('silent')

export const jwtSecret = 'a secret of more than thirty-two bytes'
export const secretBytes = new TextEncoder().encode(jwtSecret)

export interface AuthServer {
  url: string
  databaseUrl: string
  engine: Engine
  /** Lets time pass for everything that has an age. */
  age(ms: number): void
  /** Comes with this token, or none. */
  enter(token?: string, options?: { scope?: Scope; headers?: Record<string, string> }): Promise<Asked>
  [Symbol.asyncDispose](): Promise<void>
}

export interface Installation {
  engine: Engine
  databaseUrl: string
  [Symbol.asyncDispose](): Promise<void>
}

/** An installation; several servers may share it. */
export async function startInstallation(): Promise<Installation> {
  const database = await createDatabase()
  const engine = new Engine(engineConfig({ databaseUrl: database.url }), logger)
  await engine.start()
  return {
    engine,
    databaseUrl: database.url,
    async [Symbol.asyncDispose]() {
      await engine.stop()
      await database.drop()
    },
  }
}

/** A server of an installation, or of one of its own. */
export async function authServer(settings: AuthSettings = { jwtSecret }, behind?: Installation): Promise<AuthServer> {
  const { engine, databaseUrl, ...whole } = behind ?? (await startInstallation())
  let passed = 0
  const authenticator = await createAuthenticator(authConfig(settings, false), {
    database: engine.database,
    clock: { now: () => engine.clock.now() + passed },
    ticks: () => monotonicMs() + passed,
    logger,
  })
  const http = new HttpServer({ host: '127.0.0.1', port: 0, services: engine, routes: mirrors, authenticator, logger })
  await http.start()
  return {
    url: http.url,
    databaseUrl,
    engine,
    age: (ms) => {
      passed += ms
    },
    enter: (token, { scope = 'jobs:read', headers = {} } = {}) =>
      ask(http.url, `GET ${pathFor(scope)}`, undefined, {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      }),
    async [Symbol.asyncDispose]() {
      await http.stop()
      if (!behind) await whole[Symbol.asyncDispose]()
    },
  }
}

/** A token that is good for an hour. */
export function token(
  claims: JWTPayload = {},
  { alg = 'HS256', kid, key = secretBytes }: Signing = {},
): Promise<string> {
  const whole = { tenant: 'acme', sub: 'ada', scope: 'jobs:read', exp: inSec(3_600), ...claims }
  return new SignJWT(whole).setProtectedHeader({ alg, ...(kid !== undefined && { kid }) }).sign(key)
}

interface Signing {
  alg?: string
  kid?: string
  key?: Parameters<SignJWT['sign']>[0]
}

export function inSec(sec: number): number {
  return Math.floor(Date.now() / 1_000) + sec
}

function pathFor(scope: Scope): string {
  return `/who/${scope.replace(':', '-')}`
}

const mirrors: Record<string, Route> = Object.fromEntries(
  scopes.map((scope) => {
    const operation = {
      method: 'GET',
      path: pathFor(scope),
      tag: 'Who',
      scope,
      summary: '',
      answers: {},
      errors: [],
    } as const
    return [scope, route(operation as never, async ({ caller }) => ok({ ...caller, scopes: [...caller.scopes] }))]
  }),
)
