//! Keys that nearly equal texts have in common: bands of MinHash signatures, as of `pipelines/arrays/minhash.py`, which
//! says why.
//!
//! Signatures are those of rensa, version 2 (after Dahlgaard, Knudsen, Thorup: Fast similarity sketching, 2017). In each
//! of three rounds a hash falls into one of the values, and of those that do the one with the smallest rank is kept,
//! those of earlier rounds before others. A value that no hash falls into is the smallest of a permutation of them all.

use crate::anchors::{finish, mix_first, STEP};

pub const SHINGLE: usize = 4;
const POWERS: [u64; SHINGLE - 1] = [STEP, STEP.wrapping_mul(STEP), STEP.wrapping_mul(STEP).wrapping_mul(STEP)];
/// Values of a signature. The number of bands divides it.
const VALUES: usize = 42;
const SEED: u64 = 1;
const ROUNDS: u32 = 3;
/// Bits of a value below its round.
const RANK_BITS: u32 = 30;
/// The keys of the rounds, of each one by its number, and of permutations.
const OF_ROUNDS: u64 = 0x6A09_E667_F3BC_C909;
const OF_ROUND: u64 = 0x3C6E_F372_FE94_F82B;
const OF_PERMUTATIONS: u64 = 0xBB67_AE85_84CA_A73B;

/// Makes signatures.
pub struct Signer {
    /// The permutations, of which each value has its own: a factor, and what is added.
    permutations: [(u64, u64); VALUES],
    hashes: Vec<u64>,
}

impl Default for Signer {
    /// Permutations are of numbers of xoshiro256++ (Blackman, Vigna: Scrambled linear pseudorandom number generators,
    /// 2021), whose state is that of splitmix64.
    fn default() -> Signer {
        let mut state = [1, 2, 3, 4].map(|number: u64| finish(SEED.wrapping_add(STEP.wrapping_mul(number))));
        let mut next = || {
            let number = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
            let shifted = state[1] << 17;
            state[2] ^= state[0];
            state[3] ^= state[1];
            state[1] ^= state[2];
            state[0] ^= state[3];
            state[2] ^= shifted;
            state[3] = state[3].rotate_left(45);
            number
        };
        Signer { permutations: [(); VALUES].map(|()| (next() | 1, next())), hashes: Vec::new() }
    }
}

impl Signer {
    /// Add keys of a text, given its points, of which there are at least `SHINGLE`. Texts of another scope have none of
    /// them. `bands` divides the number of values.
    pub fn add_keys(&mut self, points: &[u32], scope: u64, bands: usize, keys: &mut Vec<u64>) {
        let values = self.sign(points);
        for (band, values) in values.chunks_exact((VALUES / bands).max(1)).enumerate() {
            keys.push(values.iter().fold(mix_first(band as u64) ^ scope, |key, &value| {
                finish((key ^ u64::from(value)).wrapping_mul(STEP).wrapping_add(STEP))
            }));
        }
    }

    fn sign(&mut self, points: &[u32]) -> [u32; VALUES] {
        self.hashes.clear();
        self.hashes.reserve(points.len());
        for shingle in points.windows(SHINGLE) {
            let [first, second, third, last] = [0, 1, 2, 3].map(|number| u64::from(shingle[number]));
            let packed = first.wrapping_mul(POWERS[2]).wrapping_add(second.wrapping_mul(POWERS[1]));
            self.hashes.push(mix_first(packed.wrapping_add(third.wrapping_mul(POWERS[0])).wrapping_add(last)));
        }
        let mut values = [u32::MAX; VALUES];
        for round in 0..ROUNDS {
            let key = self.permutations[0].1 ^ OF_ROUNDS ^ u64::from(round).wrapping_mul(OF_ROUND);
            for &hash in &self.hashes {
                let mixed = mixed(hash ^ key);
                let value = &mut values[value_of(mixed)];
                *value = (*value).min(round << RANK_BITS | (mixed >> (64 - RANK_BITS)) as u32);
            }
            if values.iter().all(|value| value >> RANK_BITS <= round) {
                return values;
            }
        }
        let key = self.permutations[0].0 ^ OF_PERMUTATIONS;
        self.hashes.iter_mut().for_each(|hash| *hash = mixed(*hash ^ key));
        for (value, (factor, added)) in values.iter_mut().zip(self.permutations) {
            if *value >> RANK_BITS == ROUNDS {
                let ranks = self.hashes.iter().map(|hash| (hash.wrapping_mul(factor).wrapping_add(added) >> 32) as u32);
                *value = ROUNDS << RANK_BITS | ranks.min().unwrap_or(u32::MAX) >> (32 - RANK_BITS);
            }
        }
        values
    }
}

/// The number of splitmix64 after a state.
fn mixed(state: u64) -> u64 {
    finish(state.wrapping_add(STEP))
}

/// Which value a hash falls into, each with the same probability (Lemire: Fast random integer generation in an interval,
/// 2019).
fn value_of(mut hash: u64) -> usize {
    const NUMBER: u32 = VALUES as u32;
    loop {
        let product = u64::from(hash as u32) * u64::from(NUMBER);
        if product as u32 >= NUMBER.wrapping_neg() % NUMBER {
            return (product >> 32) as usize;
        }
        hash = mixed(hash);
    }
}
