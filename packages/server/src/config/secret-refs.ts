/**
 * References to secrets (`env:NAME`, `file:/path`), resolved when they are needed and nowhere kept. What must stay true: a
 * tenant can read no more than the operator's prefixes allow it, and neither an error nor a log line holds a value.
 */
import { open, realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { CarillonError } from '@carillon/contract'
import {
  directoryOf,
  isWellFormed,
  matches,
  nameOf,
  overlap,
  type SecretPattern,
  secretPattern,
} from './secret-patterns.ts'

const maxBytes = 64 * 1024

/** A reference that cannot be resolved now. The message names the reference, never what it stands for. */
export class SecretUnavailable extends Error {
  override readonly name = 'SecretUnavailable'
}

/** A reference that the operator does not allow. */
export class SecretRefused extends Error {
  override readonly name = 'SecretRefused'
}

/** For whom a reference is resolved: a tenant, or the operator, whose own references need no prefix. */
export type SecretReader = { tenant: string } | { trusted: true }

export class SecretRefs {
  readonly #shared: readonly SecretPattern[]
  readonly #byTenant: ReadonlyMap<string, readonly SecretPattern[]>

  /** Prefixes such as `env:CARILLON_SECRET_*` and `file:/run/secrets/*`: for all tenants, and for one each. */
  constructor(shared: readonly string[], byTenant: Readonly<Record<string, readonly string[]>> = {}) {
    this.#shared = shared.map((text) => secretPattern(text, 'secrets'))
    this.#byTenant = new Map(
      Object.entries(byTenant).map(([tenant, texts]) => [
        tenant,
        texts.map((text) => secretPattern(text, `tenantSecrets/${tenant}`)),
      ]),
    )
    this.#refuseOverlaps()
  }

  allows(ref: string, tenant: string): boolean {
    return isWellFormed(ref) && this.#patternOf(ref, tenant) !== undefined
  }

  /** What a tenant may refer to, for people. */
  allowedTo(tenant: string): string[] {
    return this.#patternsOf(tenant).map(({ text }) => text)
  }

  async resolve(ref: string, reader: SecretReader): Promise<string> {
    const pattern = 'tenant' in reader ? this.#patternOf(ref, reader.tenant) : undefined
    if (!isWellFormed(ref) || (!pattern && 'tenant' in reader)) {
      throw new SecretRefused(`${ref} is not allowed here`)
    }
    const name = nameOf(ref)
    const value = ref.startsWith('env:') ? process.env[name] : await readSecretFile(ref, name, pattern)
    if (value === undefined || value === '') throw new SecretUnavailable(`${ref} is not set on this node`)
    return value
  }

  #patternsOf(tenant: string): SecretPattern[] {
    return [...this.#shared, ...(this.#byTenant.get(tenant) ?? [])]
  }

  #patternOf(ref: string, tenant: string): SecretPattern | undefined {
    return this.#patternsOf(tenant).find((pattern) => matches(pattern, ref))
  }

  /**
   * What is for one tenant must not be readable by another through a prefix that begins alike: `env:A_*` would allow tenant a what
   * `env:A_B_*` allows tenant a_b. Exactly the same one for two tenants is meant.
   */
  #refuseOverlaps(): void {
    const tenants = [...this.#byTenant]
    for (const [at, [tenant, own]] of tenants.entries()) {
      const others = tenants.slice(0, at).flatMap(([other, theirs]) => theirs.map((each) => [other, each] as const))
      for (const pattern of own) {
        const shared = this.#shared.find((each) => overlap(each, pattern))
        if (shared) throw ambiguous(tenant, pattern, `${shared.text} of targets.secrets, which is for all tenants`)
        const found = others.find(([, each]) => each.text !== pattern.text && overlap(each, pattern))
        if (found) throw ambiguous(tenant, pattern, `${found[1].text} of tenant ${found[0]}`)
      }
    }
  }
}

function ambiguous(tenant: string, { text }: SecretPattern, other: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', {
    pointer: `/targets/tenantSecrets/${tenant}`,
    message: `targets.tenantSecrets.${tenant} has ${text}, which overlaps with ${other}`,
    hint: 'Choose prefixes of which none begins as another one: env:ACME__* and env:ACME_EU__*',
  })
}

async function readSecretFile(ref: string, path: string, pattern: SecretPattern | undefined): Promise<string> {
  try {
    const real = await realpath(path)
    // A link may lead elsewhere within the allowed directory, as mounted secrets do, but not out of it.
    if (pattern && !pattern.whole && !real.startsWith(within(await realpath(directoryOf(pattern))))) {
      throw new SecretRefused(`${ref} leads out of what is allowed`)
    }
    return await readText(real)
  } catch (error) {
    if (error instanceof SecretRefused) throw error
    throw new SecretUnavailable(
      `${ref} cannot be read on this node (${(error as { code?: string }).code ?? 'unknown'})`,
    )
  }
}

async function readText(path: string): Promise<string> {
  // Before it is opened: a pipe would wait for a writer.
  if (!(await stat(path)).isFile()) throw Object.assign(new Error(), { code: 'not a file' })
  const file = await open(path, 'r')
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0)
    if (bytesRead > maxBytes) throw Object.assign(new Error(), { code: 'too large' })
    // Editors and `echo` end files with a line break that is not part of the secret.
    return buffer.toString('utf8', 0, bytesRead).replace(/\r?\n$/, '')
  } finally {
    await file.close()
  }
}

function within(directory: string): string {
  return directory.endsWith(sep) ? directory : directory + sep
}
