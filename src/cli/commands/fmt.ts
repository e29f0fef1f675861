// millrace fmt: rewrites the definitions of a folder to the shorter forms of the language. It needs no node.

import { chmod, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { type Cli, handle } from '../command.ts'
import { resolveFolder } from '../definitions-folder.ts'
import { EXIT } from '../failure.ts'
import { count } from '../text.ts'
import { readable } from './definitions.ts'

interface FmtOptions {
  readonly check?: boolean
  readonly long?: boolean
}

export function addFmtCommand(program: Command, cli: Cli): void {
  const command = program
    .command('fmt')
    .argument('[folder]', 'a folder of definitions; left out: MILLRACE_FLOWS, or ./flows')
    .description('rewrite definitions to the shorter forms; comments and hashes stay')
    .option('--long', 'the other direction: write every short form out')
    .option('--check', 'write nothing, and fail if a file would change')
  handle<FmtOptions>(
    command,
    cli,
    async (session, { check = false, long = false }, given) => {
      const { formatFindings, lengthenFiles, readFolder, shortenFiles } = await import(
        '../../definitions/language.ts'
      )
      const folder = resolveFolder(session, given)
      const files = await readable(folder, () => readFolder(folder))
      const { changed, errors } = long ? lengthenFiles(files) : shortenFiles(files)
      if (!check) for (const { path, text } of changed) await replaceFile(join(folder, path), text)
      const shown = { changed: changed.map(({ path }) => path), errors, isWritten: !check }
      session.show(shown, () => {
        for (const { path } of changed) session.out.line(`${check ? 'would rewrite' : 'rewrote'} ${path}`)
        if (errors.length > 0) session.out.line(formatFindings(errors, files).trimEnd())
        session.out.line(
          changed.length === 0
            ? `${count(files.length, 'file')}: nothing to ${long ? 'write out' : 'shorten'}`
            : `${count(changed.length, 'file')} of ${files.length}`,
        )
      })
      return errors.length > 0 || (check && changed.length > 0) ? EXIT.findings.code : EXIT.ok.code
    },
    { isLocal: true },
  )
}

/** As a whole or not at all, with the mode of the file; a link stays one. */
async function replaceFile(path: string, text: string): Promise<void> {
  const file = await realpath(path)
  const { mode } = await stat(file)
  const part = `${file}.${process.pid}.part`
  try {
    await writeFile(part, text, { flag: 'wx' })
    await chmod(part, mode)
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
