import CLinux
import Foundation
import ProcessIO
import Synchronization
import TestVectors
import Testing

@testable import EventLoop

@Suite struct OwnThreadTests {
  @Test func `work is done on another thread, with every signal blocked`() async {
    let caller = pthread_self()
    let (isOther, mask) = await OwnThread.run { () -> (Bool, [Int32]) in
      var blocked = sigset_t()
      pthread_sigmask(SIG_SETMASK, nil, &blocked)
      return (
        pthread_equal(caller, pthread_self()) == 0,
        [SIGTERM, SIGINT, SIGPIPE, SIGTTIN, SIGTTOU, SIGCHLD].filter { sigismember(&blocked, $0) == 1 }
      )
    }
    #expect(isOther)
    #expect(mask == [SIGTERM, SIGINT, SIGPIPE, SIGTTIN, SIGTTOU, SIGCHLD])
  }

  @Test func `a write to a pipe without a reader is an error`() async {
    let number = await OwnThread.run { () -> Int32 in
      var ends: [Int32] = [-1, -1]
      clinux_pipe(&ends)
      close(ends[0])
      defer { close(ends[1]) }
      return write(ends[1], "x", 1) < 0 ? errno : 0
    }
    #expect(number == EPIPE)
  }

  @Test func `a hundred blocked threads leave the pool free`() async {
    var ends: [Int32] = [-1, -1]
    clinux_pipe(&ends)
    let (read, write) = (ends[0], ends[1])
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<100 {
        group.addTask {
          await OwnThread.run {
            var byte: UInt8 = 0
            return Glibc.read(read, &byte, 1)
          }
        }
      }
      // Runs only if none of the hundred threads blocks the pool.
      group.addTask { Glibc.write(write, [UInt8](repeating: 1, count: 100), 100) }
      var sum = 0
      for await count in group { sum += count }
      #expect(sum == 200)
    }
    close(read)
    close(write)
  }

  @Test func `cancelling wakes a waiting thread`() async {
    var ends: [Int32] = [-1, -1]
    clinux_pipe(&ends)
    let read = ends[0]
    let started = DispatchSemaphore(value: 0)
    let task = Task {
      await OwnThread.run(cancellable: { cancellation in
        started.signal()
        // A thread that is not woken ends at its deadline, with another result.
        return cancellation.wait(for: read, POLLIN, until: .now + .patience)
      })
    }
    await OwnThread.run { started.wait() }
    task.cancel()
    #expect(await task.value == .cancelled)
    close(ends[0])
    close(ends[1])
  }

  @Test func `work that cannot be stopped is abandoned when its task is cancelled`() async {
    let (started, finish) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let task = Task {
      await OwnThread.runUnlessCancelled { () -> Int in
        started.signal()
        finish.wait()
        return 1
      }
    }
    await OwnThread.run { started.wait() }
    task.cancel()
    #expect(await task.value == nil)
    finish.signal()
  }

  @Test func `work returns its result, or nil if it was cancelled before`() async {
    #expect(await OwnThread.runUnlessCancelled { 42 } == 42)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await OwnThread.runUnlessCancelled { 42 }
    }
    #expect(await cancelled.value == nil)
  }
}
