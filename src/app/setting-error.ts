// Reports which setting this machine cannot satisfy.

/** A valid setting that this machine cannot satisfy. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
  readonly setting: string
  constructor(setting: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.setting = setting
  }
}

/** The system's errors about a path or an address, as sentences. */
const MACHINE_ANSWERS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist.',
  EEXIST: 'is not a folder.',
  ENOTDIR: 'is not a folder.',
  EISDIR: 'is a folder.',
  EACCES: 'is not open to the user that this runs as.',
  EPERM: 'is not open to the user that this runs as.',
  EROFS: 'is on a file system that cannot be written.',
  ENOSPC: 'is on a file system without space.',
  ENOTSUP: 'cannot be made: its file system takes no folders there.',
  EMFILE: 'cannot be opened: too many files are open. Raise the limit (`ulimit -n`) to 1024 or more.',
  ENFILE: 'cannot be opened: too many files are open on this machine.',
  EADDRNOTAVAIL: 'is not an address of this machine.',
  ENOTFOUND: 'is not a name of this machine.',
}

/** Applies a setting; if the machine cannot, the error names the setting. */
export async function followSetting<Value>(
  setting: string,
  value: string,
  work: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    const answer = MACHINE_ANSWERS[code ?? '']
    if (answer === undefined) throw error
    throw new SettingError(setting, `${path ?? value} ${answer}`, { cause: error })
  }
}
