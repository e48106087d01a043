/**
 * Tells when any of some files changes. Folders are watched rather than files, because editors replace files; what
 * comes within a moment is one change.
 */
import { type FSWatcher, watch } from 'node:fs'
import { dirname, join } from 'node:path'

const settleMs = 80

export class FileWatch {
  readonly #onChange: () => void
  readonly #folders = new Map<string, FSWatcher>()
  #files = new Set<string>()
  /** After a failed start anything beside the files may be what was missing. */
  #anything = false
  #timer: NodeJS.Timeout | undefined

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  follow(files: readonly string[], { anything }: { anything: boolean }): void {
    this.#files = new Set([...(anything ? this.#files : []), ...files])
    this.#anything = anything
    const wanted = new Set([...this.#files].map((file) => dirname(file)))
    for (const [folder, watcher] of this.#folders) {
      if (wanted.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of wanted) if (!this.#folders.has(folder)) this.#watchFolder(folder)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  #watchFolder(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        if (name === null || this.#anything || this.#files.has(join(folder, name))) this.#changed()
      })
      watcher.on('error', () => {}) // The folder went away; its files come back with the next change elsewhere.
      this.#folders.set(folder, watcher)
    } catch {
      // A folder that is not there cannot be watched; the entry is, by its own folder.
    }
  }

  #changed(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onChange, settleMs)
  }
}
