/**
 * Which Node each package needs. Every entry imports its own check first, so that an older Node says one sentence rather than a
 * syntax error of something further in. This file and those checks must parse and link on any Node from 18 on.
 */
export const nodeVersions = { sdk: '22.19', server: '24.21', cli: '24.21', embedded: '24.21' } as const

/** Null: this Node will do. */
export function nodeRefusal(what: string, minimum: string, running: string = process.versions.node): string | null {
  const [major = 0, minor = 0] = minimum.split('.').map(Number)
  const [runningMajor = 0, runningMinor = 0] = running.split('.').map(Number)
  if (runningMajor > major || (runningMajor === major && runningMinor >= minor)) return null
  return `${what} needs Node ${minimum} or later; this is Node ${running}`
}

/** Throws the sentence. */
export function requireNode(what: string, minimum: string): void {
  const refusal = nodeRefusal(what, minimum)
  if (refusal !== null) throw new Error(refusal)
}
