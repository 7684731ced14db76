// Eight goroutines split files into parts named by their checksum, as a store of objects does: a temporary file, its sync, its rename.
package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func store(content []byte) {
	name := fmt.Sprintf("%x", sha256.Sum256(content))
	folder := filepath.Join("objects", name[:2])
	check(os.MkdirAll(folder, 0o755))
	file, err := os.CreateTemp(folder, "part-")
	check(err)
	_, err = file.Write(content)
	check(err)
	check(file.Sync())
	check(file.Close())
	check(os.Rename(file.Name(), filepath.Join(folder, name)))
}

func main() {
	files, err := strconv.Atoi(os.Args[1])
	check(err)
	jobs := make(chan int64)
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for seed := range jobs {
				content := make([]byte, 1000+seed*7919%60000)
				rand.New(rand.NewSource(seed)).Read(content)
				store(content)
			}
		}()
	}
	for seed := range files {
		jobs <- int64(seed)
	}
	close(jobs)
	wait.Wait()
}
