/** Lets work go on side by side, and waits for all of it where some work must be alone. */
export class Gate {
  private running = 0;
  private isClosed = false;
  private readonly waiting: (() => void)[] = [];

  /** Runs work that may go on beside other such work. */
  async beside<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.isClosed) await this.change();
    this.running += 1;
    try {
      return await work();
    } finally {
      this.running -= 1;
      this.wake();
    }
  }

  /** Runs work while no other does; what comes meanwhile waits. */
  async alone<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.isClosed) await this.change();
    this.isClosed = true;
    try {
      while (this.running > 0) await this.change();
      return await work();
    } finally {
      this.isClosed = false;
      this.wake();
    }
  }

  private change(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private wake(): void {
    for (const resume of this.waiting.splice(0)) resume();
  }
}
