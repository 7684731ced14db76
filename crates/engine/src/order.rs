//! The order in which a worker takes its items.
//! In: the group's order, its range of items and its share of the work. Out: the item at each position.
//! Computed position by position; nothing is stored.

use crate::hash::{Permutation, below, mix, mix_all};
use workload::program::Order;

/// One worker's sequence of items of its group.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    order: Order,
    first: u64,
    available: u64,
    total: u64,
    /// First position of this worker.
    pub from: u64,
    /// One past its last position.
    pub to: u64,
    permutation: Permutation,
    key: u64,
    /// Distance between its positions.
    step: u64,
}

/// How a group's work is divided into shares.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// This worker, from 0.
    pub worker: u64,
    /// Workers that divide the items; 1 if each has its own.
    pub workers: u64,
}

impl Course {
    /// The course over `items` items from `first` on; `count` items in all, None for every one once.
    /// In order and shuffled, the shares are neighbouring ranges of positions.
    pub fn new(order: Order, items: u64, first: u64, count: Option<u64>, share: Share, key: &[u64]) -> Course {
        let available = items.saturating_sub(first);
        let total = if available == 0 { 0 } else { count.unwrap_or(available) };
        let cut = |part: u64| (u128::from(total) * u128::from(part) / u128::from(share.workers.max(1))) as u64;
        let key = mix_all(key);
        let (from, to, step) = match (order, share.workers) {
            (_, 0 | 1) => (0, total, 1),
            (Order::Strided, workers) => (share.worker.min(total), total, workers),
            _ => (cut(share.worker), cut(share.worker + 1), 1),
        };
        // A permutation depends on the group, a draw on the position: both are independent of the number of workers.
        let permutation = Permutation::new(available.max(1), key);
        Course { order, first, available, total, from, to, permutation, key, step }
    }

    /// Number of items that this worker takes.
    pub fn len(&self) -> u64 {
        self.to.saturating_sub(self.from).div_ceil(self.step)
    }

    /// The item at a position; positions beyond the total start over (another pass of a phase that ends by time).
    #[inline]
    pub fn item(&self, position: u64) -> u64 {
        let within = if position < self.available { position } else { position % self.available };
        self.first
            + match self.order {
                Order::Shuffled => self.permutation.at(within),
                Order::Random => below(mix(self.key ^ mix(position)), self.available),
                Order::InOrder | Order::Strided | Order::Readdir | Order::Follow => within,
            }
    }

    /// The position after this one; None when the work is done, or the first again if it is repeated.
    #[inline]
    pub fn after(&self, position: u64, repeat: bool) -> Option<u64> {
        let next = position + self.step;
        if next < self.to {
            return Some(next);
        }
        if !repeat || self.to == self.from {
            return None;
        }
        // Positions of the second round are offset by the total, so that draws differ from those of the first.
        let round = (position - self.from) / self.total;
        let end = self.to + round * self.total;
        Some(if next < end { next } else { self.from + (round + 1) * self.total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(order: Order, count: Option<u64>, worker: u64, workers: u64) -> Course {
        Course::new(order, 100, 0, count, Share { worker, workers }, &[1])
    }

    fn items(course: &Course) -> Vec<u64> {
        (course.from..course.to).map(|p| course.item(p)).collect()
    }

    #[test]
    fn workers_share_the_items_without_overlap() {
        for order in [Order::InOrder, Order::Shuffled] {
            let mut all: Vec<u64> = (0..3).flat_map(|w| items(&course(order, None, w, 3))).collect();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_stride_takes_every_so_manyth_and_begins_again_where_it_began() {
        let all: Vec<Vec<u64>> = (0..3)
            .map(|worker| {
                let course = course(Order::Strided, Some(8), worker, 3);
                let mut positions = vec![course.from];
                while let Some(next) = course.after(*positions.last().unwrap(), false) {
                    positions.push(next);
                }
                positions.into_iter().map(|position| course.item(position)).collect()
            })
            .collect();
        assert_eq!(all, [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
        let course = Course::new(Order::Strided, 8, 0, None, Share { worker: 2, workers: 3 }, &[1]);
        let again = course.after(5, true).unwrap();
        assert_eq!((again, course.item(again)), (10, 2));
        assert_eq!(course.item(course.after(again, true).unwrap()), 5);
    }

    #[test]
    fn draws_are_with_replacement_and_counted() {
        let drawn = items(&course(Order::Random, Some(1000), 0, 1));
        assert_eq!(drawn.len(), 1000);
        assert!(drawn.iter().all(|i| *i < 100));
    }

    #[test]
    fn a_range_begins_at_its_first_item() {
        let course = Course::new(Order::InOrder, 100, 90, None, Share { worker: 0, workers: 1 }, &[1]);
        assert_eq!(items(&course), (90..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_course_ends_or_begins_again() {
        let course = course(Order::InOrder, None, 1, 2);
        assert_eq!((course.from, course.to), (50, 100));
        assert_eq!(course.after(98, false), Some(99));
        assert_eq!(course.after(99, false), None);
        let again = course.after(99, true).unwrap();
        assert_eq!(course.item(again), 50);
        let mut position = again;
        for expected in 51..100 {
            position = course.after(position, true).unwrap();
            assert_eq!(course.item(position), expected);
        }
        assert_eq!(course.item(course.after(position, true).unwrap()), 50);
    }
}
