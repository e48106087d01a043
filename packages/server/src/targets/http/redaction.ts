/** Takes secrets out of texts that come back from a target: some services answer with the request they were sent. */
const shortest = 4
const shortestPart = 8

export class Redaction {
  readonly #secrets: string[]

  constructor(secrets: readonly string[]) {
    const found = new Set<string>()
    for (const secret of secrets) {
      // `Bearer abc`: the second part is the secret, and may come back alone.
      const parts = secret.split(/\s+/).filter((part) => part.length >= shortestPart)
      for (const text of [secret, ...parts]) {
        if (text.length < shortest) continue
        found.add(text)
        found.add(JSON.stringify(text).slice(1, -1))
      }
    }
    // Longest first: a part must not break up the whole.
    this.#secrets = [...found].sort((a, b) => b.length - a.length)
  }

  clean(text: string): string {
    return this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text)
  }
}
